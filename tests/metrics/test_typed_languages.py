"""Replies of one kind in many languages, currencies and formats."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench import Table, score
from pytest_tablebench.metrics.typed_answer import answer_kind

RIGHT = {
    "0.5": "1/2|½|one half|half|50%|ein halb|un demi|\\frac{1}{2}|It is one half.",
    "2.5": "2 1/2|2½|two and a half|zweieinhalb|deux et demi|2\\frac{1}{2}|$2\\tfrac12$",
    "0.5%": "5‰|5 per mille|50 bps|50 basis points|50 Basispunkte",
    "1234567": "1.234.567|1 234 567|1'234'567|1\\,234\\,567|1~234~567|12,34,567|١٬٢٣٤٬٥٦٧",
    "1234.5": "1.234,5|1,234.5|1 234,5|١٢٣٤٫٥|１，２３４．５",
    "5000": "5 thousand|5 Tsd.|5 mille|5 mil|5 mila|5 duizend|5 tys.|5 тыс.|5千|5천|5K",
    "5000000": "5 mln|5 Mio.|5 millones|5 milioni|5 milhões|5 miljoen|5 млн|500万|500만|5百万",
    "5000000000": "5 bn|5 Mrd.|5 milliards|5 mil millones|5 miliardi|5 млрд|50亿|50億|50억",
    "35000": "3万5000|3万5千|三万五千|3만 5000",
    "25%": "25 percent|25 Prozent|25 pour cent|25 por ciento|25 por cento|25 процентов|25パーセント"
    "|25퍼센트|百分之25|百分之二十五|25 procent|25 percento",
    "21": "twenty-one|einundzwanzig|vingt et un|veintiuno|ventuno|vinte e um|eenentwintig|二十一"
    "|двадцать один|dwadzieścia jeden|이십일",
    "42": "about 42|approximately 42|approx. 42|ca. 42|~42|≈ 42|etwa 42|rund 42|environ 42|unos 42"
    "|circa 42|ongeveer 42|około 42|примерно 42|大约42|約42|약 42|It is about 42.",
    "12": "5 + 7 = 12|Sum: 5 + 7\n= 12|(5 + 7) = 12|12 = 5 + 7"
    "|5 plus 7 is 12|Total: 12|24 / 2 = 12",
    "12 kg": "12 kilograms|12000 g|12 Kilogramm|12 kilogrammes|12 килограммов|12 キログラム|12公斤",
    "90 min": "1 h 30 min|1 hour 30 minutes|1 hour and 30 minutes|1.5 h|90 Minuten|1h30m"
    "|It takes 1 h 30 min.",
    "A$5": "5 Australian dollars|AUD 5|5 dollars",
    "£5m": "5 million pounds|£5 million|5m GBP|£5,000,000",
    "kr 500": "500 kr|500 kronor|500 SEK",
    "500 zł": "500 PLN|500 zloty|PLN 500",
    "Rp 5.000": "5000 rupiah|IDR 5,000",
    "¥500": "500円|500 yen|500元",
    "March 2024": "2024-03|03/2024|3/2024|2024/03|Mar-24|Mar 2024|March, 2024|2024年3月|mars 2024"
    "|März 2024|marzo de 2024|2024 March",
    "2024-03-05": "05-Mar-24|20240305|5th of March 2024|5 marca 2024|5 марта 2024 г."
    "|2024년 3월 5일|Tue, 5 Mar 2024|5 de março de 2024",
    "14:30": "2.30 p.m.|2:30pm|14h30|14時30分|오후 2시 30분|下午2点30分|14.30 Uhr",
    "12:00": "noon|12 noon|12 pm",
    "March 5": "5 March|Mar 5|5th of March",
    "Monday": "Mon|Mon.",
    "Q3 2024": "2024 Q3|third quarter of 2024|FY2024 Q3|3Q24|Q3'24|3. Quartal 2024|T3 2024"
    "|2024年第三季度",
    "H1 2023": "first half of 2023|1H23|1. Halbjahr 2023|premier semestre 2023|2023年上半年",
    "2019/20": "2019-20|2019–2020|2019/2020|the 2019/20 season",
    "yes": "да|はい|tak|Y|네|sì|sí|sim|ja|oui|是|Correct.|Yes it was.|Yes—both are."
    "|It rose, so yes.",
    "no": "нет|いいえ|nie|N|아니요|não|nee|non|nein|否|False.|No it fell.|No—it fell.",
    "Müller": "Muller|Mueller",
    "Łódź": "Lodz|The city is Lodz.",
    "AT&T": "AT&amp;T|AT & T",
    "U.S.": "US|U.S|us",
    "Smith & Co.": "Smith and Co|Smith & Co",
    "<0.001": "< 0.001",
    "3-1": "3 - 1|3 – 1",
    "first": "1st",
    "tea": '{"answer": "tea"}|{"product": "tea"}|```json\n{"answer": "tea"}\n```'
    "|<answer>tea</answer>|<|begin_of_box|>tea<|end_of_box|>|\\boxed {tea}|\\Boxed{tea}"
    "|Tea—it is cheap.",
}

NOT_RIGHT = {
    "2": "2 1/2|2 2/3|two and a half|2½|It is 2 1/2.",
    "1": "1 3/4|1½|half",
    "5": "5‰|5°|5 kg|5%|$6|It decreased by 5.",
    "5%": "5‰|5 bps|$5|0.5%",
    "42": "at least 42|nearly 42|up to 42|over 42|max. 42|mind. 42|fast 42|au moins 42|presque 42"
    "|más de 42|almeno 42|mais de 42|meer dan 42|ponad 42|не менее 42|至少42|42以上|42+|42 or more"
    "|42?|40-44|either 42 or 43|not 42|maybe 42|est. 42|double 42|Anything except 42",
    "$5": "₩5|5₽|HK$5|5¢|C$5|₺5|5 pesos|€5|MX$5",
    "12": "12 + 1 = 13|Total: 13\n|12\n13|12 of 30",
    "500元": "500円|500 won",
    "90 min": "1 h 20 min|90 h",
    "Dec-24": "-24|24|Dec 2023",
    "March": "5 March|May",
    "3": "3Q24|3 March",
    "2024": "5 March 2024|T3 2024",
    "0.5%": "1/2|half|0.5‰",
    "Q3 2024": "Q4 2024|Q3 2023|2024",
    "2019/20": "2020/21|2019",
    "no": "There is no evidence that it is false.|No answer can be given.|No idea|No data"
    "|No, I cannot determine that.",
    "yes": "Not sure, maybe yes.|Yes and no|Yes or no?",
    "A*": "A|A+",
    "x2": "x3",
    "O'Neil": "ONeil",
}


def cases(replies: dict[str, str]) -> list[Any]:
    pairs = [(answer, reply) for answer, text in replies.items() for reply in split(text)]
    return [pytest.param(*pair, id=f"{pair[0]}-{number}") for number, pair in enumerate(pairs)]


def split(text: str) -> list[str]:
    """Split at bars, except inside of box tokens."""
    marked = text.replace("<|", "\x00").replace("|>", "\x01")
    return [part.replace("\x00", "<|").replace("\x01", "|>") for part in marked.split("|")]


@pytest.mark.parametrize(("answer", "reply"), cases(RIGHT))
def test_another_form_of_the_answer_is_right(answer: str, reply: str) -> None:
    kind = answer_kind([answer])
    scored = score("typed_answer", reply, [answer])
    assert (scored.value, scored.unclear) == (1, False), (kind, scored.why)


@pytest.mark.parametrize(("answer", "reply"), cases(NOT_RIGHT))
def test_another_answer_is_not_right(answer: str, reply: str) -> None:
    assert score("typed_answer", reply, [answer]).value == 0


STOCK = Table(
    ["Product", "In stock", "Price", "Units"],
    [
        ["tea", "yes", "2.50", "40"],
        ["coffee", "no", "3.10", "0"],
        ["cocoa", "yes", "4.20", "12"],
        ["milk", "no", "1.20", "0"],
    ],
)
SENTENCES = {
    ("Which product is cheapest?", "milk"): (
        "Milk is cheapest at 1.20.|milk, 1.20|Milk, at a price of 1.20.|The cheapest is milk."
        "|Tea costs 2.50.\nThe cheapest product is milk.|Milk (1.20)",
        "Tea is cheapest at 1.20.|Milk is cheapest, tea second.|The dearest product is milk."
        "|Milk costs more than tea.|The second cheapest is milk.|approx. milk",
    ),
    ("Which products are in stock?", "tea; cocoa"): (
        "tea + cocoa|tea / cocoa|tea (2.50) and cocoa (4.20)|\\boxed{tea} and \\boxed{cocoa}"
        '|There are two products in stock: tea and cocoa.|{"products": ["tea", "cocoa"]}'
        "|tea and cocoa—both are listed.",
        "The products out of stock are tea and cocoa.|Sold out: tea, cocoa|All except: tea, cocoa"
        "|The other products are tea and cocoa|tea, cocoa, milk|Missing:\n- tea\n- cocoa",
    ),
    ("How many units of tea are in stock?", "40"): (
        "40 units|40 pieces|There are 40 units of tea in stock.|Tea: 40|40 (see row 1)",
        "40 units of cocoa|40 units were sold|40 customers|The table has 40 rows.|See row 40."
        "|Unable to answer: only 40 rows are shown|$40|40 is too low",
    ),
    ("How many crates are there?", "12 crates"): ("12|There are 12.|twelve crates", "13|12 kg"),
    ("How did sales change?", "-5"): (
        "a decrease of 5|They fell by 5.|down 5|ein Rückgang um 5|une baisse de 5|下降了5",
        "5|an increase of 5|They rose by 5.",
    ),
    ("By how much did sales decrease?", "5"): ("They decreased by 5.|5", "They increased by 5."),
    ("What was the profit?", "8"): ("a profit of 8|8", "a loss of 8"),
}


@pytest.mark.parametrize("question", SENTENCES, ids=lambda pair: pair[0])
def test_sentences_are_read_with_their_question(question: tuple[str, str]) -> None:
    text, answer = question
    context: dict[str, Any] = {"question": text, "table": STOCK}
    right, wrong = SENTENCES[question]
    for reply in right.split("|"):
        assert score("typed_answer", reply, answer.split("; "), **context).value == 1, reply
    for reply in wrong.split("|"):
        assert score("typed_answer", reply, answer.split("; "), **context).value == 0, reply
