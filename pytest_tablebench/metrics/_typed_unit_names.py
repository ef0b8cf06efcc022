"""Names of currencies, units and powers of ten that CLDR lacks, and families of currencies."""

from __future__ import annotations

PERCENT = frozenset(
    {"%", "percent", "per cent", "pct", "pct.", "prozent", "pour cent", "por ciento", "procent"}
    | {"percentage point", "percentage points", "pp", "prozentpunkte", "prozentpunkt"}
    | {"points de pourcentage", "point de pourcentage", "puntos porcentuales", "百分点", "个百分点"}
    | {"percentuale", "percentagem", "procenten", "百分比", "퍼센트", "프로", "パーセント", "проц"}
)
PER_MILLE = frozenset({"‰", "per mille", "per mil", "permille", "per thousand", "promille"})
BASIS_POINTS = frozenset(
    {"bp", "bps", "basis point", "basis points", "basispunkt", "basispunkte", "basispunkten"}
    | {
        "points de base",
        "point de base",
        "puntos básicos",
        "基点",
        "个基点",
        "베이시스포인트",
        "bips",
    }
)
RATIOS = {"%": 100, "‰": 1_000, "bp": 10_000}
"""How many of a unit are a whole."""

_NAMES = """
USD $ us$ usd 美元 美金 米ドル 미국달러
EUR € eur euro euros 欧元 ユーロ 유로 евро eura
GBP £ gbp 英镑 ポンド
JPY jpy jp¥ yen yens 円 日元 日圆 엔 иен
CNY cny rmb cn¥ yuan yuans 元 人民币 块 위안 юаней renminbi
INR ₹ inr
KRW ₩ krw won 원 韩元 ウォン
TRY ₺ try tl 里拉
RUB ₽ rub руб рублей рубля рубль rubel ruble rubles
RUB rouble roubles rublos rubli 卢布
UAH ₴ uah грн hryvnia
VND ₫ vnd dong đồng đ
THB ฿ thb baht 泰铢
PHP ₱ php
ILS ₪ ils shekel shekels nis
NGN ₦ ngn naira
CRC ₡
PYG ₲
KZT ₸
AZN ₼
GEL ₾
PLN zł pln zloty zlotys złoty złotych złote
PLN zlotych 兹罗提
CZK kč czk koruna korun koruny
HUF huf forint forints
IDR rp idr rupiah rupiahs 印尼盾
MYR rm myr ringgit
BRL r$ brl reais
ZAR zar rand rands
CHF chf sfr fr. schweizer 瑞士法郎
SEK sek
NOK nok
DKK dkk
ISK isk
AUD a$ au$ aud 澳元
CAD c$ ca$ cad cdn$ 加元
HKD hk$ hkd 港元 港币
TWD nt$ twd 新台币 台币
NZD nz$ nzd
SGD s$ sgd sg$ 新元
MXN mx$ mxn mex$
ARS ar$ ars
CLP cl$ clp
COP co$ cop
PEN s/ pen soles
AED aed
SAR sar riyals
¢ ¢ cent cents ct cts centimes 美分
¥ ¥
kr kr krona kronor krone kroner krónur kronen couronnes coronas
dollar dollar dollars dollari dólares dólar dolar dolarów доллар доллара долларов ドル 달러
dollar us-dollar
peso peso pesos
franc franc francs franken franchi francos 法郎
rupee rs rupee rupees rupien roupies rupias 卢比
lira lira liras lire
dinar dinar dinars
dirham dirham dirhams
crown crown crowns
pound £e
"""
"""In each line a code or the name of a family, then its signs and words."""

CURRENCIES = {
    name: line.split()[0] for line in _NAMES.strip().split("\n") for name in line.split()[1:]
}
"""Currencies by their signs and words; a code, or the name of a family."""

FAMILIES = {
    "¥": frozenset({"JPY", "CNY"}),
    "kr": frozenset({"SEK", "NOK", "DKK", "ISK", "crown"}),
    "crown": frozenset({"SEK", "NOK", "DKK", "ISK", "CZK", "kr"}),
    "dollar": frozenset({"USD", "AUD", "CAD", "HKD", "NZD", "SGD", "TWD"}),
    "peso": frozenset({"MXN", "ARS", "CLP", "COP", "PHP", "UYU", "CUP", "DOP"}),
    "franc": frozenset({"CHF", "XOF", "XAF", "FRF", "BEF"}),
    "rupee": frozenset({"INR", "PKR", "LKR", "NPR", "IDR"}),
    "lira": frozenset({"TRY", "ITL", "LBP"}),
    "dinar": frozenset({"KWD", "BHD", "JOD", "DZD", "TND", "IQD", "RSD"}),
    "dirham": frozenset({"AED", "MAD"}),
    "pound": frozenset({"GBP", "EGP"}),
    "pounds": frozenset({"GBP", "EGP"}),
}
"""The currencies that a word or sign without a country may mean."""

POINTS_BETWEEN_THOUSANDS = frozenset(
    {"IDR", "VND", "CLP", "COP", "PYG", "ARS", "BRL", "TRY", "DKK", "ISK", "kr", "peso", "KRW"}
)
"""Currencies of countries that write `5.000` for five thousand."""

SCALES = {
    **dict.fromkeys(("thousand", "thousands", "tausend", "tsd", "mille", "k", "mil"), 10**3),
    **dict.fromkeys(("million", "millions", "mio", "mln", "mn", "millionen"), 10**6),
    **dict.fromkeys(("billion", "billions", "bn", "mrd", "milliarden", "milliards"), 10**9),
    **dict.fromkeys(("trillion", "trillions", "tn"), 10**12),
    **dict.fromkeys(("hundred", "hundreds"), 100),
    "dozen": 12,
    "lakh": 10**5,
    "lakhs": 10**5,
    "crore": 10**7,
    "crores": 10**7,
}
CJK_SCALES = {
    **dict.fromkeys("百백", 100),
    **dict.fromkeys("千천", 10**3),
    **dict.fromkeys("万萬만", 10**4),
    **dict.fromkeys(("百万", "百萬", "백만"), 10**6),
    **dict.fromkeys(("千万", "千萬", "천만"), 10**7),
    **dict.fromkeys("亿億억", 10**8),
    **dict.fromkeys(("万亿", "萬億", "兆", "조"), 10**12),
}
AMBIGUOUS_SCALES = frozenset({"bln", "mi", "bi", "tri", "m", "b", "t", "md"})
"""Abbreviations in CLDR that mean another power of ten or a unit in another language."""

LETTERS = {"K": 10**3, "k": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
MONEY_LETTERS = {"k": 10**3, "m": 10**6, "mm": 10**6, "b": 10**9, "bn": 10**9, "t": 10**12}
"""Powers of ten behind an amount of money: `£5m`."""

SINGLE = frozenset("mgshltw%‰°$€£¥₹")
"""One-letter units; other letters are more often part of a name."""

UNITS = {
    "g": "gram",
    "m": "meter",
    "s": "second",
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
    "l": "liter",
    "t": "tonne",
    "w": "watt",
    "min": "minute",
    "mins": "minute",
    "sec": "second",
    "secs": "second",
    "std": "hour",
    "ml": "milliliter",
    "mb": "megabyte",
    "°": "degree",
    "килограммов": "kilogram",
    "граммов": "gram",
    "тонн": "tonne",
    "千克": "kilogram",
    "公斤": "kilogram",
    "克": "gram",
    "吨": "tonne",
    "米": "meter",
    "公里": "kilometer",
    "千米": "kilometer",
    "厘米": "centimeter",
    "平方公里": "square-kilometer",
    "平方米": "square-meter",
    "立方米": "cubic-meter",
    "升": "liter",
    "小时": "hour",
    "分钟": "minute",
}
