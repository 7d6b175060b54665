"""The page in a real browser: everything a person may do there, and that nothing leaves it."""

import re

import pytest

from tests.serve.browsing import OPTIONS, SCREENSHOTS, Visit, chromium, ranked
from tests.serve.server import Server

BOOKS = ("the book thief", "1984", "the kite runner")
TITLES = ["The Book Thief", "1984", "The Kite Runner"]


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    reason = "no playwright in this environment: the browser tests were skipped"
    api = pytest.importorskip("playwright.sync_api", reason=reason)
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=[*OPTIONS])
        yield started
        started.close()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture(scope="module")
def url(browser, shelf):
    with Server("--demo", shelf, shelf / "log") as server:
        yield server.url


@pytest.fixture
def visit(browser, url):
    """A person who has just opened the page."""
    here = Visit(browser, url)
    yield here
    here.close()


def test_three_likes_change_the_list_to_what_the_python_runtime_lists(visit, url, tmp_path):
    assert visit.listed == ranked(url, visit.held, [], tmp_path)
    for n, text in enumerate(BOOKS, 1):
        before = visit.listed
        visit.like(text)
        assert visit.liked == TITLES[:n]
        assert visit.listed != before
        assert visit.listed == ranked(url, visit.held, TITLES[:n], tmp_path)
    assert len(visit.listed) == 12
    assert re.fullmatch(r"12 titles for 3 titles you like, ranked here in [\d.]+ ms\.",
                        visit.text("#ranked"))  # fmt: skip
    assert "because of 1984" in visit.text("#listed")
    visit.picture("three-likes")


def test_no_request_leaves_while_liking_and_the_counter_would_tell(visit):
    visit.requests.clear()
    for text in BOOKS:
        visit.like(text)
    visit.page.get_by_role("button", name="Like ").first.click()
    visit.page.get_by_role("button", name="Remove 1984").click()
    visit.page.get_by_role("button", name="Clear all").click()
    visit.page.wait_for_timeout(500)
    assert visit.requests == []
    assert visit.text("#requests") == "0"
    visit.page.evaluate("fetch('healthz').then((answer) => answer.text())")
    visit.until(lambda: visit.text("#requests") == "1")


def test_a_larger_size_downloads_the_patch_alone_and_a_known_one_nothing(visit, url, tmp_path):
    visit.like("1984")
    visit.move("Home", *["ArrowRight"] * 6)
    small = visit.held
    visit.requests.clear()
    visit.move("ArrowRight", "ArrowRight", "ArrowRight")
    large = visit.held
    files = [asked for asked in visit.requests if "/v1/bundles/" in asked]
    assert files == [f"{url}/v1/bundles/{small}/upgrade?to={large}"]
    about = visit.page.evaluate("({...document.querySelector('#device').dataset})")
    assert about["how"] == "patch"
    assert 0 < int(about["bytes"]) < int(about["fileBytes"])
    assert "to turn the file into one of" in visit.text("#download")
    assert visit.listed == ranked(url, large, ["1984"], tmp_path)
    visit.requests.clear()
    visit.move("ArrowLeft", "ArrowLeft", "ArrowLeft")
    assert visit.held == small
    assert not [asked for asked in visit.requests if "/v1/bundles/" in asked]
    assert "on this device already" in visit.text("#download")


def test_a_server_that_forgot_the_old_size_sends_the_whole_file(visit, shelf):
    visit.move("Home")
    (shelf / "files" / f"{visit.held}.elastic").unlink()
    visit.move("ArrowRight", "ArrowRight")
    assert visit.page.get_attribute("#device", "data-how") == "file"
    assert len(visit.complaints) == 1  # the browser's own line about the refusal
    assert "404" in visit.complaints.pop()


def test_it_works_without_a_network_after_the_first_visit(browser, url, tmp_path):
    visit = Visit(browser, url)
    visit.like("1984")
    visit.move("Home", "ArrowRight")
    listed, held = visit.listed, visit.held
    visit.context.set_offline(True)
    visit.page.reload()
    visit.ready()
    assert (visit.liked, visit.listed, visit.held) == (["1984"], listed, held)
    visit.like("animal farm")
    assert visit.listed == ranked(url, held, ["1984", "Animal Farm"], tmp_path)
    visit.page.get_by_role("slider").press("Home")
    visit.until(lambda: "could not be had" in visit.text("#download"))
    assert visit.held == held
    visit.picture("offline")
    visit.close(offline=True)


def test_everything_can_be_done_by_keyboard(visit):
    page = visit.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").startswith("Skip to")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "size"
    room, before = visit.text("#room"), visit.held
    page.keyboard.press("ArrowRight")
    assert visit.text("#room") != room
    visit.until(lambda: visit.held != before)  # a new list between two keys would be another test
    page.keyboard.press("Tab")
    page.keyboard.type("harry potter and the")
    box = page.get_by_role("combobox")
    assert box.get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = page.get_by_role("option").nth(1)
    assert box.get_attribute("aria-activedescendant") == second.get_attribute("id")
    assert second.get_attribute("aria-selected") == "true"
    title = second.inner_text()
    page.keyboard.press("Enter")
    assert visit.liked == [title]
    assert box.input_value() == ""
    page.keyboard.press("Escape")
    for wanted in ("Clear all", f"Remove {title}", f"Like {visit.listed[0]}"):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "document.activeElement.ariaLabel ?? document.activeElement.innerText"
        )
        assert focused == wanted
    first = visit.listed[0]
    page.keyboard.press("Enter")
    assert visit.liked == [title, first]
    assert page.evaluate("document.activeElement.ariaLabel") == f"Like {visit.listed[0]}"
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == f"Remove {first}"
    page.keyboard.press("Space")
    page.keyboard.press("Space")
    assert visit.liked == []
    assert page.evaluate("document.activeElement.id") == "search"


def test_screen_readers_hear_names_values_and_changes(visit):
    page = visit.page
    slider = page.get_by_role("slider", name="Room on the device")
    assert re.fullmatch(
        r"[\d.]+ [KM]B, estimated recall@50 0\.\d+, [\d.]+ % of the largest",
        slider.get_attribute("aria-valuetext"),
    )
    assert page.get_by_role("combobox", name="Search titles, and choose what you like").is_enabled()
    assert page.get_by_role("list", name="Recommended").is_visible()
    assert page.get_by_role("img", name="Estimated quality of every size").is_visible()
    assert page.get_by_role("heading", level=1).count() == 1
    regions = ("How much room is there?", "On this device", "What the file keeps")
    assert all(page.get_by_role("region", name=name).first.is_visible() for name in regions)
    table = page.get_by_role(
        "table", name="Bit planes that each group of items keeps of each block"
    )
    assert table.get_by_role("rowheader").count() == 20
    assert table.get_by_role("columnheader").count() == 1 + 16 + 1 + 1
    visit.like("1984")
    heard = page.get_by_role("status").all_inner_texts()
    assert any("for 1 title you like" in text for text in heard)
    nameless = "[...document.querySelectorAll('button, input, select, a')].filter((each) =>"
    nameless += " !(each.ariaLabel || each.innerText.trim() || each.labels?.length)).length"
    assert page.evaluate(nameless) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_it_fits_and_can_be_read(browser, url, scheme, width):
    size = {"width": width, "height": 740}
    visit = Visit(browser, url, viewport=size, color_scheme=scheme, has_touch=width < 500)
    for text in BOOKS:
        visit.like(text)
    assert visit.page.evaluate("document.documentElement.scrollWidth") == width
    contrasts = visit.page.evaluate(CONTRASTS)
    assert len(contrasts) > 40
    assert {name: value for name, value in contrasts.items() if value < 4.5} == {}
    paper = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    bright = sum(int(part) for part in re.findall(r"\d+", paper)) > 384
    assert bright == (scheme == "light")
    visit.picture(f"{scheme}-{width}")
    visit.close()
    assert (SCREENSHOTS / f"{scheme}-{width}.png").stat().st_size > 20_000


CONTRASTS = """
() => {
  const light = (color) => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d');
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((value) => (
      value / 255 <= .04045 ? value / 255 / 12.92 : ((value / 255 + .055) / 1.055) ** 2.4));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return color === 'rgba(0, 0, 0, 0)' ? behind(element.parentElement) : color;
  };
  const found = {};
  for (const element of document.querySelectorAll('body *:not(svg *, script, noscript, option)')) {
    const style = getComputedStyle(element), own = [...element.childNodes].some((node) => (
      node.nodeType === Node.TEXT_NODE && node.textContent.trim()));
    if (!own || !element.checkVisibility() || style.color === 'rgba(0, 0, 0, 0)') continue;
    const [a, b] = [light(style.color), light(behind(element))].sort((x, y) => y - x);
    found[`${element.tagName} ${element.className || element.id} ${style.color}`
      + ` ${element.textContent.slice(0, 20)}`] = (a + .05) / (b + .05);
  }
  return found;
}
"""
"""The contrast of every text against what lies behind it, as WCAG computes it."""


def test_over_plain_http_it_ranks_though_it_can_neither_hash_nor_keep(browser, url, tmp_path):
    plain = url.replace("127.0.0.1", "plain.test")
    visit = Visit(browser, plain)
    assert not visit.page.evaluate("isSecureContext")
    visit.like("1984")
    assert visit.listed == ranked(url, visit.held, ["1984"], tmp_path)
    visit.move("Home", "ArrowRight")
    assert visit.page.get_attribute("#device", "data-how") == "file"
    assert "plain http" in visit.text("#place")
    visit.close()


def test_another_model_can_be_chosen(browser, made_models, tmp_path):
    with Server(made_models, tmp_path / "shelf", tmp_path / "log") as server:
        visit = Visit(browser, server.url)
        assert not visit.page.get_by_text("goodbooks-10k").is_visible()
        before = visit.held
        visit.page.get_by_role("combobox", name="Model").select_option("films")
        visit.until(lambda: visit.held != before)
        visit.like("book 7")
        assert visit.liked == ["Book 7 – ein Buch"]
        assert len(visit.listed) == 12
        visit.close()
