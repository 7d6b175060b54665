"""The list of mutants: every line that one breaks is there, and so are its tests."""

import re

import pytest

from scripts.mutants import ROOT, Mutant, read_mutants

MUTANTS = read_mutants()


def test_at_least_fifty_mutants_have_names_of_their_own():
    assert len(MUTANTS) >= 50
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_breaks_one_line_and_names_its_tests(mutant):
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    changed = mutant.broken(text)
    pairs = zip(text.splitlines(), changed.splitlines(), strict=True)
    assert sum(old != new for old, new in pairs) == 1
    compile(changed, mutant.file, "exec")
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert not name or re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE)
        assert (ROOT / file).is_file()


def test_a_line_that_is_gone_or_there_twice_is_named():
    mutant = Mutant("m", "says", "a.py", "x = 1", "x = 2", ())
    assert mutant.broken("x = 1\ny = 3\n") == "x = 2\ny = 3\n"
    for text, times in (("", 0), ("x = 1\nx = 1\n", 2)):
        with pytest.raises(ValueError, match=f"m: a.py has 'x = 1' {times} times, expected once"):
            mutant.broken(text)
