"""What many people said, for the group `sessions`: words as often as in a language, made up.

The same seed gives the same messages; nothing of them is anybody's.
"""

from collections.abc import Iterator
from itertools import accumulate
from random import Random

_SEED = 6
_VOCABULARY = 40_000
_LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
_SIGNS = "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原车白应路期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许八特觉望直服毛林题建南度统色字请交爱让认算论百吃义科怎元社术结六功指思非流每青管夫连远资队跟带花快条院变联言权往展该领传近留红治决周保达办运武半候七必城父强步完革深区即求品士转量空甚众技轻程告江语英基派满式李息写呢识极令黄德收脸钱党倒未持取设始版双历越史商千片容研像找友孩站广改议形委早房音火际则首单据导影失拿网香似斯专石若兵弟谁校读志飞观争究包组造落视济喜离虽坏兴切"
_PEOPLE, _CHINESE_EVERY = 5_000, 20


class Talk:
    """Messages of made-up words; one in twenty is in Chinese signs."""

    def __init__(self) -> None:
        self._random = Random(_SEED)
        words = sorted({self._word() for _ in range(_VOCABULARY)})
        self._random.shuffle(words)
        self.words = words
        self._weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(words))))

    def _word(self) -> str:
        size = min(12, max(2, round(self._random.gauss(6, 2))))
        return "".join(self._random.choices(_LETTERS, weights=range(52, 26, -1), k=size))

    def messages(self, count: int) -> Iterator[tuple[str, str]]:
        """Iterate over people and what each said."""
        for number in range(count):
            size = max(1, round(self._random.expovariate(1 / 20)))
            if number % _CHINESE_EVERY == 0:
                text = "".join(self._random.choices(_SIGNS, k=2 * size))
            else:
                text = " ".join(self._random.choices(self.words, cum_weights=self._weights, k=size))
            yield f"p_{self._random.randrange(_PEOPLE)}", text

    def searches(self, count: int) -> Iterator[tuple[str, str]]:
        """Iterate over kinds of searches and what each looks for; each kind as often."""
        pick = self._random.choices
        for _ in range(count):
            common, rare = (pick(self.words[lo:hi])[0] for lo, hi in ((20, 500), (5_000, 40_000)))
            yield "common", common
            yield "rare", rare
            yield "part", rare[1:] if len(rare) > 3 else common
            yield "two", f"{common} {pick(self.words[:200])[0]}"
            yield "short", pick([word for word in self.words[:2_000] if len(word) == 2])[0]
            yield "sign", pick(_SIGNS)[0]
            yield "signs", "".join(pick(_SIGNS, k=2))
            yield "absent", f"{rare}{common}"
