"""Texts of many scripts for tokenizers, always the same ones."""

from __future__ import annotations

import json
import random

__all__ = ["mixed_texts"]

# a line is a pool of words that a text takes from; what normalizers and pre-tokenizers differ on is among them
_WORDS = """\
the quick brown fox jumps over a lazy dog hello world constructor __proto__ toString it's we'll I'M don't
Crème brûlée naïve façade Ærøskøbing straße İstanbul ǅungla ﬁn ﬂow Å e\u0301t\u00e9 o\u0308 ñandú Łódź ſ ŉ
Привет мир ёлка ЙОД й и\u0306 съешь ещё этих Київ Ўзбек
Ελλάδα ΟΔΟΣ οδός ά α\u0301 ΐ Ωμέγα ϐ ς
مرحبا بالعالم مُحَمَّد ﷺ لا ـــ ۱۲۳ آ أ
שלום עולם שָׁלוֹם ﬡ יִ ״ל
नमस्ते दुनिया क्षत्रिय हिन्दी ज़ क़ १२३ श्री
สวัสดี ชาวโลก น้ำ กำ เก้า ๑๒๓ ฯลฯ
你好 世界 漢字 龍 㐀 𠀀 豈 々 。 ， 「東京」 １２３ ＡＢＣ
カ\u3099 ガ が か\u3099 ﾊﾟﾝ ｶﾞ ー ゞ グ ク\u3099 はひふへほ パ ㌔ ㍿ ゛ ゜
안녕하세요 세계 한글 ㅎㅏㄴ \u1112\u1161\u11ab 각 \u1100\u1161\u11a8
🙂 👩\u200d👧 👨\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈 🇩🇪 👍🏽 ❤\ufe0f ♩ © ™ ½ ² ⁄ № ℃ ① ⅷ ª º
\x00 \x01 \x07 \x08 \x0b \x0c \x1b \x1c \x1f \x7f \x85 \xa0 \xad \u200b \u200e \u2028 \u2029 \u202e \u2060
\u3000 \ufeff \ufffd \ufffe \uffff \U0010ffff \ue000 \u0378 \u180e \u1680 \u2003 \u2009 a\x00b x\xady
[CLS] [SEP] [MASK] [PAD] [UNK] <|end|> <s> </s> <unk> <pad> <mask> [cls] ▁ Ġ ## ##ing ▁▁hello
3.14 1,000,000 1234567 -5 $9.99 50% a@b.org http://x.y/z?q=1&r=2 C++ `x` {y} ~ ^ | \\ " ' … — – ‘q’ “q” ¿ ¡ « » ·
\ud800 \udfff a\ud83d \ude42b"""
_LONG = ["supercalifragilisticexpialidocious" * 4, "aaaa" * 30, "é" * 40]
_SPACES = (" ", " ", " ", " ", "", "  ", "\n", "\t", "\r\n", "   ", " " * 40, "\u2003", "\n\n")


def mixed_texts(count: int = 1200) -> list[str]:
    """Texts of words from one or several scripts, with a fixed seed; some hold lone surrogates. The first is empty."""
    pools = [line.split(" ") for line in _WORDS.split("\n")] + [_LONG]
    chosen = random.Random(20261201)
    texts = ["", " ", "\n", *(word for pool in pools for word in pool)]
    while len(texts) < count:
        some = chosen.sample(range(len(pools)), chosen.choice((1, 1, 2, 3, 5)))
        text = chosen.choice(("", "", "", " ", "  "))
        for _ in range(chosen.randint(1, 12)):
            text += chosen.choice(pools[chosen.choice(some)]) + chosen.choice(_SPACES)
        texts.append(text if chosen.random() < 0.5 else text.rstrip())
    return json.loads(json.dumps(texts[:count]))  # in which two surrogates that make a pair are one character
