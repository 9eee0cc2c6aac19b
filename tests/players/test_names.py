"""What players may be called, and when two names are one."""

# ruff: noqa: RUF001 - letters that look alike are what this is about

import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.runtime.names import LENGTH_MAX, RULES, canonical, fault_of, made_fit, tidied

GOOD = [
    "Ana", "Zoë", "Ana Maria-2", "O'Brien", "D\N{RIGHT SINGLE QUOTATION MARK}Amico",
    "Ștefan", "Țuțu", "Ionuț Brâncuși",  # Romanian
    "Niccolò", "Forlì",  # Italian
    "Иван", "Ёлка_7", "Мария-Анна",  # Russian
    "Bjørn Ødegård", "Håkon", "Ærlig",  # Norwegian
    "Łukasz_99", "Αλέξης", "Nguyễn Văn", "Դավիթ", "გიორგი", "李小龍", "さくら", "スーパー", "桜さくら", "김철수", "דוד",
]  # fmt: skip

BAD = [
    ("A", "length"),
    ("x" * 25, "length"),
    ("   ", "length"),
    ("", "length"),
    ("1st", "beginning"),
    ("-dash", "beginning"),
    ("'tis", "beginning"),
    ("a  b", "spaces"),
    ("a\tb", "invisible"),
    ("a\nb", "invisible"),
    ("a\x00b", "invisible"),
    ("a\N{ZERO WIDTH SPACE}b", "invisible"),
    ("a\N{ZERO WIDTH JOINER}b", "invisible"),
    ("a\N{SOFT HYPHEN}b", "invisible"),
    ("a\N{NO-BREAK SPACE}b", "invisible"),
    ("a\N{WORD JOINER}b", "invisible"),
    ("a\N{HANGUL FILLER}b", "invisible"),
    ("a\N{BRAILLE PATTERN BLANK}b", "invisible"),
    ("a\N{COMBINING GRAPHEME JOINER}b", "invisible"),
    ("abc\N{RIGHT-TO-LEFT OVERRIDE}nimda", "invisible"),
    ("\N{LEFT-TO-RIGHT ISOLATE}abc", "invisible"),
    ("ab\N{VARIATION SELECTOR-16}", "characters"),
    ("ab\ue000", "invisible"),
    ("\N{FULLWIDTH LATIN SMALL LETTER A}dmin", "look-alike"),
    ("\N{MATHEMATICAL BOLD SMALL A}na", "look-alike"),
    ("\N{LATIN SMALL LETTER LONG S}ara", "look-alike"),
    ("\N{LATIN SMALL LIGATURE FI}na", "look-alike"),
    ("\N{LATIN SMALL LETTER ALPHA}na", "characters"),
    ("\N{LATIN LETTER SMALL CAPITAL A}na", "characters"),
    ("a\N{COMBINING CYRILLIC MILLIONS SIGN}b", "characters"),
    ("Z\N{COMBINING LONG STROKE OVERLAY}", "characters"),
    ("\N{CHEROKEE LETTER A}\N{CHEROKEE LETTER E}", "characters"),
    ("a<b>", "characters"),
    ("a\N{ARABIC-INDIC DIGIT FIVE}", "characters"),
    ("\N{GRINNING FACE}ab", "characters"),
    ("аdmin", "scripts"),
    ("Ανna", "scripts"),
    ("Иvan", "scripts"),
    ("アna", "scripts"),
    ("김さ", "scripts"),
    ("admin", "reserved"),
    ("ADMIN", "reserved"),
    ("Admin 7", "reserved"),
    ("Erased player", "reserved"),
    ("ERASED-PLAYER 3", "reserved"),
    ("The Admin", "reserved"),
    ("Adm1n", "reserved"),
    ("Àdmin", "reserved"),
    ("macao", "reserved"),
    ("Macao_Support", "reserved"),
    ("S-y-s-t-e-m", "reserved"),
    ("Администратор", "reserved"),
    ("moderatore", "reserved"),
    ("Nobody", "reserved"),
]


@pytest.mark.parametrize("name", GOOD)
def test_people_may_be_called_what_they_are_called(name):
    assert fault_of(tidied(name)) is None
    assert canonical(tidied(name))


@pytest.mark.parametrize("name", GOOD)
def test_a_name_is_the_same_however_its_accents_are_written(name):
    assert tidied(unicodedata.normalize("NFD", name)) == tidied(name)


@pytest.mark.parametrize(("name", "rule"), BAD, ids=[ascii(name) for name, _ in BAD])
def test_a_name_that_breaks_a_rule_is_refused_by_that_rule(name, rule):
    assert fault_of(tidied(name)) == rule
    assert RULES[rule].endswith(".")


def test_every_rule_is_broken_by_an_example():
    assert {rule for _, rule in BAD} == set(RULES)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana", "ANA"),
        ("Ana", "Anà"),
        ("Ana Maria", "Ana_Maria"),
        ("Ana Maria", "anamaria"),
        ("Ştefan", "Ștefan"),  # with a cedilla, with a comma
        ("Stefan", "Ștefan"),
        ("Ian", "lan"),
        ("Bill", "Bi11"),
        ("Bob", "B0b"),
        ("Cora", "Сога"),
        ("Oca", "Оса"),
        ("TOPKA", "ТОРКА"),
        ("Mona", "Rnona"),
        ("Willi", "VViIIi"),
        ("Bjørn", "Bjorn"),
        ("Аня", "АНЯ"),
        ("Ёлка", "Елка"),
        ("Strasse", "Straße"),
        ("OBrien", "O'Brien"),
    ],
)
def test_names_that_look_alike_are_one(one, other):
    assert fault_of(one) is None
    assert fault_of(other) is None
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"), [("Ana", "Anna"), ("Иван", "Иванка"), ("Per", "Pär2"), ("Ștefan", "Stefania")]
)
def test_names_that_do_not_are_two(one, other):
    assert canonical(one) != canonical(other)


@given(st.text(max_size=40))
def test_any_text_is_judged_and_what_is_good_stays_so(text):
    name = tidied(text)
    if fault_of(name) is None:
        assert tidied(name) == name
        assert canonical(name)
        assert canonical(canonical(name)) == canonical(name)


@given(st.text(max_size=60) | st.text(string.ascii_letters + " <>@.", max_size=60))
def test_any_wish_becomes_a_name_that_keeps_the_rules(wish):
    name = made_fit(wish, "Player 7")
    assert fault_of(name) is None
    assert len(name) <= LENGTH_MAX


@pytest.mark.parametrize(
    ("wish", "name"),
    [
        ("ana", "ana"),
        ("  Ana <b>Pop</b> ", "Ana bPopb"),
        ("\N{FULLWIDTH LATIN CAPITAL LETTER A}na", "Ana"),
        ("42 Ana", "Ana"),
        ("admin", "Player 7"),
        ("\N{GRINNING FACE}", "Player 7"),
        ("Иvan", "Player 7"),
    ],
)
def test_a_wish_becomes_the_nearest_name(wish, name):
    assert made_fit(wish, "Player 7") == name
