"""What captions ask for: a table of sixty, and what settings and plugins change."""

import pytest

from hermes.config.tool_settings import ImageIntentSettings
from hermes.ports.vision import VisionRequest
from hermes.tools.image_intents import GENERAL, ImageIntents

CALORIES = "calorie_scan"
DUPES = "dupe_search"

CAPTIONS = [
    ("How many calories are in this?", CALORIES),
    ("CALORIES???", CALORIES),
    ("kcal pls", CALORIES),
    ("cals?", CALORIES),
    ("what are the macros", CALORIES),
    ("how much protein is on this plate", CALORIES),
    ("how many carbs does this have", CALORIES),
    ("log my lunch please", CALORIES),
    ("Track this meal", CALORIES),
    ("nutrition facts of this bowl?", CALORIES),
    ("is this healthy?", CALORIES),
    ("scan my food", CALORIES),
    ("how fattening is that", CALORIES),
    ("Wie viele Kalorien hat das?", CALORIES),
    ("Nährwerte?", CALORIES),
    ("naehrwerte? wie viel Eiweiß ist drin", CALORIES),
    ("¿Cuántas calorías tiene?", CALORIES),
    ("cuanta proteina tiene este plato", CALORIES),
    ("Combien de calories ?", CALORIES),
    ("combien de protéines là-dedans", CALORIES),
    ("このカロリーは?", CALORIES),
    ("多少卡路里", CALORIES),
    ("сколько тут калорий", CALORIES),
    ("find me a dupe", DUPES),
    ("any dupes for these shoes?", DUPES),
    ("DUPE!", DUPES),
    ("cheaper alternative to this bag", DUPES),
    ("is there a cheaper version", DUPES),
    ("I want a look-alike of this lamp", DUPES),
    ("get the look", DUPES),
    ("where can I buy this", DUPES),
    ("Where do I get these?", DUPES),
    ("how much does this jacket cost", DUPES),
    ("what brand is this?", DUPES),
    ("who makes this chair", DUPES),
    ("something similar but cheaper", DUPES),
    ("knockoff of this sofa?", DUPES),
    ("Gibt es das günstiger?", DUPES),
    ("wo kann ich das kaufen", DUPES),
    ("etwas Ähnliches bitte", DUPES),
    ("¿Dónde puedo comprar esto?", DUPES),
    ("algo parecido mas barato", DUPES),
    ("où acheter ça ?", DUPES),
    ("quelle marque est-ce", DUPES),
    ("", GENERAL),
    ("   ", GENERAL),
    ("🍕🍕🍕", GENERAL),
    ("what is this?", GENERAL),
    ("look at my lunch!", GENERAL),
    ("my cat eating dinner", GENERAL),
    ("translate the sign", GENERAL),
    ("what does the error on this screen mean", GENERAL),
    ("I was duped by this site, is it a scam?", GENERAL),
    ("which restaurant is that", GENERAL),
    ("the local shop yesterday", GENERAL),
    ("call mum about this", GENERAL),
    ("is it going to rain", GENERAL),
    ("solve exercise 3", GENERAL),
    ("Was steht da?", GENERAL),
    ("¿Qué planta es?", GENERAL),
    ("who is in the picture", GENERAL),
    ("duplicate this table as text", GENERAL),
]


@pytest.fixture(scope="module")
def intents() -> ImageIntents:
    return ImageIntents({})


@pytest.mark.req("A16")
@pytest.mark.parametrize(("caption", "intent"), CAPTIONS)
def test_a_caption_tells_what_the_picture_is_sent_for(
    intents: ImageIntents, caption: str, intent: str
) -> None:
    told = intents.of(caption)

    assert told.intent == intent
    assert bool(told.rule) == (intent != GENERAL)


@pytest.mark.req("A16")
def test_of_two_intents_the_one_that_more_words_tell_is_taken(intents: ImageIntents) -> None:
    assert intents.of("dupe with fewer calories and better nutrition, kcal?").intent == CALORIES
    assert intents.of("a cheaper version, what brand is it, and the kcal").intent == DUPES


@pytest.mark.req("A16")
def test_settings_replace_the_words_of_an_intent_and_add_intents() -> None:
    own = {
        "calorie_scan": ImageIntentSettings(words=("weigh it",)),
        "plant": ImageIntentSettings(patterns=(r"\b(plant|flower)s?\b",)),
    }
    intents = ImageIntents(own)

    assert intents.of("weigh it").intent == CALORIES
    assert intents.of("calories?").intent == GENERAL
    assert intents.of("which FLÖWERS are these").intent == "plant"
    assert intents.of("any dupes?").intent == DUPES
    assert set(intents.names) == {CALORIES, DUPES, "plant"}


def test_a_word_of_signs_alone_is_in_no_caption() -> None:
    intents = ImageIntents({"plant": ImageIntentSettings(words=("!!!", "plant"))})

    assert [intents.of(text).intent for text in ("hello", "a plant")] == [GENERAL, "plant"]


class Receipts:
    """Fits `ports.vision.VisionPipeline`."""

    intent = "receipt"
    words = ("receipt", "Beleg")

    async def answer(self, asked: VisionRequest) -> str:
        return asked.text


@pytest.mark.req("A16")
def test_a_plugin_brings_the_words_of_its_intent() -> None:
    intents = ImageIntents({}, (Receipts(),))

    assert intents.of("file these receipts").intent == "receipt"
    assert intents.of("zwei belege").intent == "receipt"
    assert intents.of("any dupes?").intent == DUPES


@pytest.mark.req("A16")
def test_a_long_caption_is_read_at_both_ends(intents: ImageIntents) -> None:
    assert intents.of("x " * 50_000 + "how many calories").intent == CALORIES
