import gzip

import pytest
from typer.testing import CliRunner

from elasticrec.cli.main import app
from elasticrec.data.split import Split


@pytest.fixture
def elasticrec():
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, [str(a) for a in arguments])


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "ratings.csv"
    rows = [f"{u},{i},{(u + i) % 5 + 1}" for u in range(30) for i in range(20)]
    path.write_text("userId,movieId,rating\n" + "\n".join(rows) + "\n")
    return path


def test_prepare_writes_a_split_and_prints_its_counts(elasticrec, ratings, tmp_path):
    out = tmp_path / "split.npz"
    result = elasticrec("data", "prepare", ratings, "-o", out, "--name", "films")
    assert result.exit_code == 0, result.output
    split = Split.load(out)
    assert (split.name, split.n_users, split.n_items) == ("films", 30, 20)
    assert "#User" in result.stdout
    assert f"{ratings}: 600 interactions of 30 users with 20 items" in result.stderr
    assert "films: the split is random-70-10-20" in result.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"ratings.csv", "split.npz"}


def test_stats_prints_the_papers_columns(elasticrec, ratings, tmp_path):
    out = tmp_path / "split.npz"
    assert elasticrec("data", "prepare", ratings, "-o", out).exit_code == 0
    result = elasticrec("data", "stats", out)
    rows = [line.split() for line in result.stdout.splitlines() if line.strip()]
    assert rows[0] == ["Dataset", "#User", "#Item", "#Interaction", "Sparsity", "Split"]
    assert rows[1] == ["ratings", "30", "20", "600", "0.00%", "random-70-10-20"]
    drawn = len(set(Split.load(out).validation.items.tolist()))
    assert rows[3:] == [
        ["train", "30", "30", "20", "420", "14-14"],
        ["validation", "30", "30", str(drawn), "60", "2-2"],
        ["test", "30", "30", "20", "120", "4-4"],
    ]


def test_brackets_in_names_are_no_markup(elasticrec, ratings, tmp_path):
    source = ratings.rename(tmp_path / "[bold]a[b].csv")
    result = elasticrec("data", "prepare", source, "-o", tmp_path / "split.npz")
    assert result.exit_code == 0, result.output
    assert "[bold]a[b]" in result.stdout


def test_every_option_reaches_the_split(elasticrec, ratings, tmp_path):
    (tmp_path / "films.csv").write_text("movieId,title\n3,Three\n")
    options = ["--format", "csv", "--user", "userId", "--item", "movieId", "--rating", "rating"]
    options += ["--min-rating", 3, "--min-interactions", 5, "--seed", 7]
    options += ["--titles", tmp_path / "films.csv", "--split", "random"]
    out = tmp_path / "split.npz"
    result = elasticrec("data", "prepare", ratings, "-o", out, *options)
    assert result.exit_code == 0, result.output
    split = Split.load(out)
    assert split.titles[3] == "Three"
    assert len(split.train) + len(split.validation) + len(split.test) == 360


def test_prepare_and_fit_read_by_the_same_options(elasticrec):
    shown = [elasticrec(*command, "--help").stdout for command in (["data", "prepare"], ["fit"])]
    prepare, fit = ({word for word in text.split() if word.startswith("--")} for text in shown)
    assert prepare - fit == {"--out"}
    assert {"--format", "--separator", "--where", "--ordered", "--split", "--title"} <= fit


def test_a_condition_may_stand_in_doubled_equals_signs(elasticrec, tmp_path):
    rows = "".join(f"{n % 7};{n % 11};{('view', 'purchase')[n % 2]}\n" for n in range(154))
    (tmp_path / "events.txt").write_text("user;item;event\n" + rows)
    out = tmp_path / "split.npz"
    asked = ["--format", "csv", "--separator", ";", "--where", "event == 'purchase'"]
    result = elasticrec("data", "prepare", tmp_path / "events.txt", "-o", out, *asked)
    assert result.exit_code == 0, result.output
    assert "left out 77 of 154 rows where \"event == 'purchase'\" does not hold" in result.stderr
    assert "77 interactions of 7 users with 11 items" in result.stderr


def test_published_lists(elasticrec, tmp_path):
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(b"0 0 1 2 3\n1 0 1 4 5\n"))
    (tmp_path / "test.txt.gz").write_bytes(gzip.compress(b"0 6\n1 7\n"))
    out = tmp_path / "split.npz"
    options = ["--test", tmp_path / "test.txt.gz"]
    result = elasticrec("data", "prepare", tmp_path / "train.txt.gz", "-o", out, *options)
    assert result.exit_code == 0, result.output
    split = Split.load(out)
    assert (split.user_ids.values.tolist(), split.item_ids.of_number(7)) == ([0, 1], 7)
    assert (split.kind, len(split.validation)) == ("published-random", 2)
    elasticrec("data", "prepare", tmp_path / "train.txt.gz", "-o", out, *options,
               "--validation", "last")  # fmt: skip
    split = Split.load(out)
    assert (split.kind, split.validation.items.tolist()) == ("published-last", [3, 5])


def test_times_and_the_order_of_rows(elasticrec, tmp_path):
    rows = [f"{u},{i},{(7 * i) % 20}" for u in range(15) for i in range(20)]
    (tmp_path / "log.csv").write_text("\n".join(rows).replace(",", "|") + "\n")
    out = tmp_path / "split.npz"
    named = [tmp_path / "log.csv", "-o", out, "--columns", "user,item,at", "--separator", "|"]
    for options, kind, last in [
        (["--time", "at"], "temporal-70-10-20", 17),
        (["--time", "at", "--split", "last"], "last-70-10-20", 17),
        (["--ordered", "--split", "last"], "last-70-10-20", 19),
        (["--ordered"], "random-70-10-20", None),
    ]:
        assert elasticrec("data", "prepare", *named, *options).exit_code == 0
        split = Split.load(out)
        assert split.kind == kind
        assert last is None or split.test.history()[0][-1] == last


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"a,b\n1,2\n", [], "expected a user column"),
        (b"", [], "is empty"),
        (b"user,item\n1,\n", [], "line 2: the item is missing"),
        (b"user,item\n1,2\n1,3\n", [], "nothing is left after filtering"),
        (b"user,item\n1,2\n", ["--min-rating", 4], "expected a rating column"),
        (b"user,item\n1,2\n1,3\n", ["--split", "last", "--min-interactions", 1], "has neither"),
        (b"user,item\n1,2\n", ["--split", "temporal", "--min-interactions", 1], "has no times"),
        (b"0 1\nx 2\n", ["--format", "lists"], "line 2: found 'x'"),
        (gzip.compress(b"user,item\n1,2\n" * 99, mtime=0), [], "is a binary or packed file"),
    ],
)
def test_bad_input_ends_with_one_line_and_code_2_and_writes_nothing(
    elasticrec, tmp_path, content, options, message
):
    source = tmp_path / "in.csv"
    source.write_bytes(content)
    result = elasticrec("data", "prepare", source, "-o", tmp_path / "split.npz", *options)
    assert result.exit_code == 2
    assert result.stderr.count("error: ") == 1
    assert message in result.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == [source]


def test_a_cut_gzip_is_one_line_code_2(elasticrec, tmp_path):
    source = tmp_path / "train.txt.gz"
    source.write_bytes(gzip.compress(b"0 1 2\n" * 999)[:-9])
    result = elasticrec("data", "prepare", source, "-o", tmp_path / "split.npz")
    assert result.exit_code == 2
    assert "whole gzip file" in result.stderr
    assert list(tmp_path.iterdir()) == [source]


def test_an_output_that_cannot_be_written_is_refused_before_reading(elasticrec, tmp_path):
    result = elasticrec("data", "prepare", tmp_path / "none.csv", "-o", tmp_path / "no" / "s.npz")
    assert result.exit_code == 2
    assert "there is no folder" in result.stderr


@pytest.mark.parametrize("name", ["none.npz", "other.npz", "."])
def test_stats_of_what_is_no_split(elasticrec, tmp_path, name):
    (tmp_path / "other.npz").write_bytes(b"PK")
    result = elasticrec("data", "stats", tmp_path / name)
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("command", ["prepare", "stats"])
def test_help_shows_an_example(elasticrec, command):
    result = elasticrec("data", command, "--help")
    assert result.exit_code == 0
    assert f"elasticrec data {command}" in result.stdout.split("Example:")[1]
