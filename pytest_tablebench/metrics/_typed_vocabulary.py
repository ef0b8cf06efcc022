"""Words in twelve languages that change what a value in a sentence means, or change nothing."""

from __future__ import annotations

import re


def _any_of(lines: str) -> str:
    """Return a pattern of alternatives that are written with bars, in several lines."""
    return "|".join(lines.split("\n")[1:-1])


_UNSURE = _any_of(
    r"""
maybe|perhaps|probably|possibly|might|may be|could be|likely|not sure|unsure|i think|i guess
i believe|i suppose|seems|estimated?|either|neither
vielleicht|wahrscheinlich|möglicherweise|vermutlich|entweder|geschätzt|schätzungsweise|jein
peut-être|probablement|sans doute|estimé|soit|quizás?|tal vez|probablemente|forse|probabilmente
talvez|provavelmente|misschien|waarschijnlijk|może|prawdopodobnie|возможно|вероятно|наверное
"""
)

_NEGATED = _any_of(
    r"""
not|no|never|none|cannot|neither|nor|without|nobody|except|excluding|excludes|but|besides
anything|everything|unlike|instead|rather|apart|others?|unknown|n/a|unable|impossible|incorrect
wrong
nicht|kein|keine|keinen|keiner|nie|weder|ohne|aber|außer|sondern|andere|anderen
pas|aucun|aucune|jamais|sans|sauf|autres?|excepto|salvo|ninguno|ninguna|sin|tranne|senza|nessun
nem|sem|exceto|niet|geen|behalve|oprócz|bez|не|нет|кроме|без
"""
)

_REFUSED = _any_of(
    r"""
\b(?:not enough|insufficient|no|any|without|missing|lacks?) (?:\w+ )?(?:information|data)\b
\b(?:no|any|without) (?:\w+ )?(?:evidence|answer|idea|way|mention|record)\b
\b(?:cannot|can't|can not|could not|couldn't|unable to|not able to|impossible to|unclear|don't
do not|does not|doesn't|not possible to)(?: be)? ?(?:determined?|say|tell|answer(?:ed)?|know
find|decide|verify
verified|confirm(?:ed)?|contain|provide|specify|include|list|mention)\b
\b(?:unable|impossible) to\b
\b(?:keine|nicht genug|nicht genügend) (?:angaben?|information|daten)
\b(?:nicht|kann nicht) (?:bestimm|beantwort|ermittel|feststell)|\bpeux pas\b|\bimpossible de\b
\bpas (?:assez|d'information|de données)|无法|不能确定|没有(?:信息|数据)
不知道|わかりません|判断できません
"""
)

_MULTIPLE = _any_of(
    r"""
double|twice|triple|thrice|half of|quadruple|doppelte?|dreifache|hälfte|moitié|triple de|doble
mitad|doppio|metà|dobro|metade|dubbele?|helft|podwójn\w*|połow\w*
"""
)

_ABOUT = _any_of(
    r"""
about|around|approximately|approximate|approx|appr|roughly|some|circa|ca|c|ungefähr|etwa|rund
zirka
environ|à peu près|approximativement|aproximadamente|unos|unas|cerca de|alrededor de|all'incirca
approssimativamente|mais ou menos|ongeveer|rond|około|mniej więcej|около|примерно
приблизительно
"""
)

_BOUNDS = _any_of(
    r"""
nearly|almost|close to|just under|just over|more than|less than|fewer than|greater than|over
under|at least|at most|up to|in excess of|upwards of|as many as|as much as|as few as|maximum of
minimum of|exceeds|exceeding|exceeded|below|above|before|after|until|since|from|starting|max
maximum|maximal|min|minimum|minimal
knapp|fast|annähernd|mehr als|weniger als|über|unter|mindestens|mind|höchstens|bis zu|vor|nach
seit|bis
presque|près de|quasiment|plus de|moins de|au moins|au plus|jusqu'à|avant|après|depuis
casi|más de|menos de|al menos|por lo menos|como máximo|como mínimo|hasta
quasi|più di|oltre|meno di|almeno|al massimo|fino a|quase|mais de|pelo menos|no máximo|no mínimo
até
bijna|meer dan|minder dan|minstens|ten minste|hoogstens|tot|prawie|więcej niż|mniej niż
co najmniej|najwyżej|ponad
почти|более|менее|больше|меньше|не менее|не более|свыше|до
"""
)

_DOWN = _any_of(
    r"""
decreas(?:e|ed|es|ing)|f[ea]ll|fallen|falls|drop|dropped|drops|declin(?:e|ed|es|ing)|loss|lost
losing|reduc(?:ed|tion)|shrank|shrunk|shrinks|sank|sunk|down|deficit|contraction|dip|dipped
minus|rückgang|gesunken|sank|gefallen|fiel|verlust|abnahme|abgenommen|verloren|minderung|baisse
baissé|diminution|diminué|recul|reculé|perte|perdu|chute|chuté|disminución|disminuyó|caída|cayó
bajó|pérdida|diminuzione|diminuit[oa]|calo|calat[oa]|perdita|queda|caiu|diminuiu|diminuição
perda|prejuízo|daling|gedaald|daalde|verlies|spadek|spadł[ao]?|zmniejszył[ao]?|strata|снижение
снизил[аиос]*ь?|падение|упал[аио]?|убыток|уменьшил[аио]?сь|下降|减少|減少|亏损|下跌|跌|降低|赤字|감소|하락|손실
"""
)

_UP = _any_of(
    r"""
increas(?:e|ed|es|ing)|rise|rose|risen|rises|grow|grew|grown|grows|growth|gain|gained|gains|up
profit|surplus|climb|climbed|jump|jumped|anstieg|gestiegen|stieg|zunahme|zugenommen|wuchs
gewachsen|gewinn|zuwachs|hausse|augmentation|augmenté|croissance|gain|bénéfice|progressé|aumento
aumentó|subió|creció|ganancia|aumentat[oa]|crescit[oa]|cresciut[oa]|guadagno|aumentou|cresceu
lucro|stijging|gestegen|steeg|winst|wzrost|wzrósł|wzrosł[ao]|zysk|рост|вырос[лаио]*
увеличил[аио]?сь|прибыль|增加|上升|增长|盈利|上涨|증가|상승|이익|増加
"""
)

_LESS = "lower|less|fewer|weniger|moins|menos|meno|minder|mniej|меньше"
_MORE = "higher|more|mehr|plus|más|più|mais|meer|więcej|больше"

_CHANGED = _any_of(
    r"""
chang\w*|differ\w*|develop\w*|trend|delta|veränder\w*|änder\w*|entwickl\w*|unterschied\w*
differenz
variation|varié|évolu\w*|écart|différence|cambi\w*|varia\w*|diferenc\w*|mudan\w*|mudou
verander\w*
verschil|zmian\w*|zmieni\w*|różnic\w*|измен\w*|разниц\w*
"""
)

_ROW_NAMES = _any_of(
    r"""
rows?|lines?|columns?|entries|records|cells|zeilen?|spalten?|einträge|lignes?|colonnes?|entrées
filas?|columnas?|righe|colonne|linhas?|colunas?|rijen|kolommen|wierszy|kolumn|行|列|строк\w*
"""
)

UNSURE = re.compile(rf"\b(?:{_UNSURE})\b|\best\.|可能|也许|不确定|或许|大概|たぶん|おそらく|아마")
NEGATED = re.compile(
    rf"\b(?:{_NEGATED})\b|n't\b|\bn'(?=\w)"
    r"|[不没無无未非](?!锈钢)|除了|除外|以外|ない|ません|않|아니"
)
REFUSED = re.compile(_REFUSED)
OTHERWISE = re.compile(r"\b(?:or|oder|ou|vs|versus|oppure|lub|или|of wel)\b|或|(?<!\d) ?/(?=\s)")
CLAUSE = re.compile(r",? (?:who|which|whose|because|since|der|die|das|weil|qui|car)\b")
"""The start of a clause that explains a name."""
MULTIPLE = re.compile(rf"\b(?:{_MULTIPLE})\b|[两一二三四]倍|一半")
SEE = re.compile(r"\b(?:see|cf|siehe|voir|refer to)\b")
ROWS = re.compile(rf"\s?(?:{_ROW_NAMES})(?!\w)")

ABOUT = re.compile(
    rf"(?:(?:\b(?:{_ABOUT})\b\.?|[~≈∼]|大约|大概|约|大體|約|およそ|약|대략)\s?(?:[^\W\d_]{{1,3}}\s)?)$"
)
ABOUT_AFTER = re.compile(r"\s?(?:左右|上下|前後|정도|or so\b)")
BOUND = re.compile(
    rf"(?:(?:\b(?:{_BOUNDS})\b\.?|[<>≤≥]|超过|不到|至少|至多|多于|少于|高于|低于|最多|最少|将近|接近|近"
    r"|少なくとも|最大|최소|최대)\s?(?:(?:the|le|dem|den|about|a total of)\s)?)$"
)
BOUND_AFTER = re.compile(
    r"\+(?!\s?\d)|\s?(?:以上|以下|未満|を超|이상|이하|미만|초과|之前|之后|at (?:least|most)\b"
    r"|or (?:more|less|fewer|so|higher|lower)\b|oder mehr\b|ou plus\b|o más\b|o più\b|ou mais\b"
    r"|of meer\b|lub więcej\b|или более\b|and (?:up|over|above)\b)"
)

DOWN = re.compile(rf"(?<![a-z])(?:{_DOWN}|{_LESS})(?![a-z])")
UP = re.compile(rf"(?<![a-z])(?:{_UP}|{_MORE})(?![a-z])")
BEFORE_CHANGE = re.compile(
    rf"(?<![a-z])(?:(?P<down>{_DOWN})|(?P<up>{_UP}))(?![a-z])"
    r"(?:\s(?:by|of|um|von|de|d'|of about|in|di|van|o|на|em|with|rate))*[\s:了]*[-+~$€£¥]?$"
)
"""A change right before a number: `a decrease of 5`."""
AFTER_CHANGE = re.compile(rf"\s?(?:(?P<down>{_DOWN}|{_LESS})|(?P<up>{_UP}|{_MORE}))(?![a-z])")
CHANGED = re.compile(rf"\b(?:{_CHANGED})|变化|变动|差")

FUNCTION_WORDS = frozenset(
    """
a an the is are was were be been being it its in on at of to for by with from that this these
those has have had did does do there here according table tables based listed answer answers row
rows column columns shown given value values as which who what where when how and i can see we
then so called named following therefore thus hence also both all they he she his her their them
you your my our us total totals sum result results altogether together equals equal amounts
amount comes number count counted final exactly only just namely respectively per each every
found find item items entry entries data corresponding provided looking look reading date dates
day time belongs belong goes counting adding summing comparing took place takes happened
occurred held s re ll ve okay ok sure certainly get gives give giving makes making made means
indeed der die das den dem des ist sind war waren ein eine einen einer eines es im am von zu für
mit hat haben hatte laut tabelle und wird wurde wurden auf beträgt betrug somit daher insgesamt
summe ergebnis genau wert lautet fand findet statt folgenden folgende sich sie er ihr ihre bei
nach antwort gesamt beide je pro la les l un une unos unas una uma um uns uno est sont était
étaient de du d en au aux il elle ils elles c ce cette ces qui que ont selon tableau et sur y
donc somme résultat réponse valeur exactement avec pour par dans deux lieu eu el los las del al
son fue eran hay por para con según tabla respuesta valor suma se su lo entonces gli le di è
sono era nel nella secondo tabella risposta valore totale somma o os da dos no na são foi há em
com segundo tabela resposta het een van zijn volgens tabel antwoord waarde totaal met voor jest
są był była w z według tabeli odpowiedź в на с и это по таблице ответ составляет равен равна 的 是
为 在 有 了 这 那 个 座 根 据 表 格 中 答 案 和 与 就 其 上 共 总 计 一 以 及 所 都 也 の は
が を に で す だ し た と も か ら 은 는 이 가 을 를 에 의
입 니 다 rounded gerundet arrondi
""".split()  # noqa: SIM905 - shorter than a list
)
"""Words that add nothing to an answer."""

MEASURE_VERBS = frozenset(
    """
weigh weighs weighed cost costs costed priced earn earns measure measures
contain contains holds hold reach reached reaches shows show shown reports reported listed
recorded scored totals totalled totaled stands stood lasts lasted takes took lives live living
pays worth heavy long high tall old deep wide large big wiegt wog kostet kostete
misst dauert dauerte enthält zeigt hält erreichte leben lebten pèse coûte mesure dure contient
atteint vit vivent s'élève élève coûtait pesa cuesta mide dura viven costa misura vivono custa
mede vivem weegt kost duurt wonen waży kosztuje mieszka весит стоит
""".split()  # noqa: SIM905 - shorter than a list
)
"""Verbs and adjectives that link a subject to its number, and claim nothing else."""

COUNTED = frozenset(
    """
people persons items units pieces times entries records occurrences instances things cases
personen stück mal personnes unités fois pièces personas unidades veces persone unità volte
pezzi pessoas vezes peças stuks keer mensen osób sztuk razy штук раз человек 人 名 位 个 個 件
台 家 次 只
条 张 本 辆 场 种 项 岁 座 所 份 套 支 头 匹 枚 度 回 つ 개 명 번 대 권 마리
""".split()  # noqa: SIM905 - shorter than a list
)
"""Nouns and measure words that say only that something is counted."""

_GROUPS = """
people person persons individuals inhabitants residents citizens population human humans live
lives living einwohner menschen personen leute habitants personnes personas habitantes persone
abitanti pessoas mensen inwoners osób osoby ludzi человек людей жителей 人 口 명

employees employee staff workers worker people persons personnel headcount members team
mitarbeiter beschäftigte angestellte employés salariés empleados dipendenti funcionários
werknemers pracowników сотрудников 员 工 名 人

students student pupils pupil children kids people schüler studenten élèves étudiants

games game matches match fixtures fixture spiele spiel partien matchs parties partidos partite
jogos wedstrijden meczów матчей 场 比 赛

times time occasions wins won win titles victories mal fois veces volte vezes keer razy раз 次

won winner wins winning win victor champion gewann gewonnen gewinner sieger gagné vainqueur
gagnant ganó ganador vinto vincitore

items item products product units unit pieces piece articles goods stück artikel produkte
unidades artículos pezzi unità peças stuks sztuk штук 件 个 商 品 台 개 点

companies company firms firm businesses enterprises unternehmen firmen entreprises sociétés
empresas aziende imprese bedrijven 家 公 司

computers machines devices units cars vehicles 台 辆 电 脑 车

books volumes copies 本 册

years year old age aged jahre alt ans años anni anos jaar lat лет 岁

countries nations states country nation länder staaten pays países paesi landen

cities towns city town städte orte villes

shops stores branches locations outlets shop store branch filialen läden geschäfte

goals goal tore buts

largest biggest greatest größte grösste größten größter

smallest littlest kleinste kleinsten

average mean avg durchschnitt mittelwert moyenne media promedio média gemiddelde średnia

highest most maximum max top höchste höchsten meisten

lowest least minimum fewest niedrigste niedrigsten wenigsten

who person people employee employees worker workers player players member members individual
individuals candidate candidates student students wer mitarbeiter qui personne employé quién
persona empleado chi quem pessoa wie persoon kto osoba

cost costs price prices priced kosten kostet preis coûte prix cuesta precio costa prezzo preço

visitors guests attendees people besucher gäste visiteurs

books orders sales sold bestellungen
"""
"""Words that mean the same in an answer, in groups between empty lines."""

SYNONYMS: dict[str, frozenset[int]] = {}
"""The numbers of the groups of a word."""
for _place, _group in enumerate(_GROUPS.split("\n\n")):
    for _word in _group.split():
        SYNONYMS[_word] = SYNONYMS.get(_word, frozenset()) | {_place}
