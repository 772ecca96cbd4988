"""Small talk is told from what a person wants, in many languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.message.trivial import is_trivial

TRIVIAL = """
hi|Hello!|HEY|heyyyyy|Hi there :)|yo|Good morning|good night!!|How are you?|what's up|What’s up?
ok|OK.|okay|okkkk|k|kk|alright|got it|Got it, thanks!|cool|nice|perfect 👌|sounds good|noted
thanks|Thank you|THANKS!!!|thx|ty|thank you so much|thanks a lot 🙏|ok thanks|Okay, thank you very much!
bye|see you later|have a nice day|lol|haha|hahahahaha|hehe|ok bye
👍|❤️|😂😂😂|🙏🏽|👩🏽‍🍳|🇩🇪|...|!!|:-)|\u200b
Hallo|Moin!|Guten Morgen|Danke schön|vielen Dank|alles klar|Tschüss|Danke dir!|Alles klar, danke
hola|¡Buenos días!|muchas gracias|vale|de acuerdo|hasta luego|jajaja|¿Qué tal?
bonjour|Merci beaucoup|d'accord|à bientôt|ça va ?|Salut
olá|bom dia|obrigado|Obrigada!|tchau|ciao|grazie mille|va bene|buongiorno
bedankt|goedemorgen|cześć|dziękuję|merhaba|teşekkürler|tamam|terima kasih|selamat pagi|oke
привет|Спасибо!|Спасибо большое|ок|понятно|доброе утро|пока|хахаха|дякую
你好|谢谢|好的|好的谢谢|早上好|哈哈哈|知道了|謝謝你|再见
こんにちは|ありがとうございます|了解です|おはよう|はい、ありがとう
안녕하세요|감사합니다|네|ㅋㅋㅋㅋ|네 알겠습니다
مرحبا|شكرا|السلام عليكم|नमस्ते|धन्यवाद|ठीक है|สวัสดีครับ|ขอบคุณค่ะ|xin chào|cảm ơn bạn|שלום|ευχαριστώ
"""
SERIOUS = """
find me a sunset bar in Canggu|book a table for two|what is 2+2|hi, can you help me with my taxes?
ok book it|thanks, and what about tomorrow?|yes|no|yes please|?|???|what|why|help|stop|7|19:30|Canggu
hello world in Python|morning yoga near me|good restaurants|great wall of china|nice beaches|later today
I'm allergic to nuts|👍 book it|remind me later at 5|and|all|man|cool bars tonight|hi Anna is coming
danke, und was ist mit morgen|guten Italiener|wie geht es meiner Bestellung|hola quiero reservar
bonjour je cherche un hôtel|grazie ma non posso|привет найди бар|спасибо, а сколько стоит
你好我想订位|谢谢，明天呢|ありがとう、明日は|네 예약해 주세요|شكرا أريد حجز طاولة|你吃饭了吗
"""


def table(text: str) -> list[str]:
    return [one for line in text.strip().splitlines() for one in line.split("|")]


@pytest.mark.req("A12")
@pytest.mark.parametrize("text", table(TRIVIAL))
def test_small_talk_is_trivial(text: str) -> None:
    assert is_trivial(text)


@pytest.mark.req("A12")
@pytest.mark.parametrize("text", table(SERIOUS))
def test_what_wants_something_is_not(text: str) -> None:
    assert not is_trivial(text)


@pytest.mark.req("A12")
def test_nothing_to_look_up_is_trivial_and_a_long_message_is_not() -> None:
    assert is_trivial("")
    assert is_trivial(" \n ")
    assert not is_trivial("thanks " * 100)


@pytest.mark.req("A12")
@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    assert is_trivial(text) in {True, False}
