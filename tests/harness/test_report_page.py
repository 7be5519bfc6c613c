"""The page for real: it asks for nothing from outside, its plots are true, a browser shows it on a phone."""

import re
import shutil
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest
from hexapla.report.plot import Plot, Style, draw
from hexapla.report.write import write_reports
from synthetic_runs import sample_results

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium: install the package chromium")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = sample_results(tmp_path_factory.mktemp("page") / "run")
    write_reports(folder)
    return folder / "report.html"


def browse(tmp_path: Path, *words: str) -> str:
    assert BROWSER is not None
    flags = (
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--hide-scrollbars",
        f"--user-data-dir={tmp_path / 'profile'}",
    )  # fmt: skip
    done = subprocess.run([BROWSER, *flags, *words], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def read_png(path: Path) -> np.ndarray:
    """Pixels (height, width, channels) of an 8-bit, not interlaced PNG."""
    data, place, body = path.read_bytes(), 8, b""
    width = height = channels = 0
    while place < len(data):
        size, kind = int.from_bytes(data[place : place + 4]), data[place + 4 : place + 8]
        chunk = data[place + 8 : place + 8 + size]
        if kind == b"IHDR":
            width, height, channels = (
                int.from_bytes(chunk[:4]),
                int.from_bytes(chunk[4:8]),
                {2: 3, 6: 4}[chunk[9]],
            )
        elif kind == b"IDAT":
            body += chunk
        place += size + 12
    rows = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, 1 + width * channels)
    return rows[:, 1:].reshape(height, width, channels)


def test_the_page_asks_for_nothing_from_outside(page: Path) -> None:
    text = page.read_text("utf-8")
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#|data:)""", text)
    assert "@import" not in text and "url(" not in text
    assert "default-src 'none'" in text
    assert len(text) < 1_000_000


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_shows_it_without_sideways_scrolling(page: Path, tmp_path: Path, width: int) -> None:
    """A copy without the policy measures itself, in a frame: no window is under 500 wide."""
    text = re.sub(r"<meta http-equiv=[^>]*>", "", page.read_text("utf-8"))
    probe = 'parent.postMessage([innerWidth, document.documentElement.scrollWidth].join(), "*")'
    (tmp_path / "copy.html").write_text(text.replace("</body>", f"<script>{probe}</script></body>"), "utf-8")
    frame = tmp_path / "frame.html"
    listen = "<script>onmessage = (event) => { document.title = event.data; };</script>"
    frame.write_text(f'<title></title>{listen}<iframe width="{width}" height="900" src="copy.html"></iframe>')
    shown = browse(
        tmp_path, "--window-size=1400,1000", "--virtual-time-budget=5000", "--dump-dom", frame.as_uri()
    )
    found = re.search(r"<title>(\d+),(\d+)</title>", shown)
    assert found is not None
    inner, scrolled = map(int, found.groups())
    assert inner >= width - 20
    assert scrolled <= inner <= width


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_paints_it(page: Path, tmp_path: Path, width: int) -> None:
    shot = tmp_path / "shot.png"
    browse(tmp_path, f"--window-size={width},1400", f"--screenshot={shot}", page.as_uri())
    pixels = read_png(shot)
    assert pixels.shape[:2] == (1400, width)
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 50


@needs_browser
def test_its_script_runs_under_its_own_policy_and_no_other_does(page: Path, tmp_path: Path) -> None:
    text = page.read_text("utf-8")
    hostile = tmp_path / "hostile.html"
    hostile.write_text(text.replace("</main>", "<script>document.title = 'taken'</script></main>"), "utf-8")
    shown = browse(tmp_path, "--dump-dom", hostile.as_uri())
    assert "<title>taken" not in shown and "<title>Hexapla: 10 of 55 checks did not hold</title>" in shown


@needs_browser
def test_the_text_that_is_shown(page: Path, tmp_path: Path) -> None:
    shown = browse(tmp_path, "--dump-dom", page.as_uri())
    for words in (
        "10 of 55 checks did not hold",
        "go parts from c: update 24",
        "hexapla conform --binding zig --level operators",
        "What did not run",
        "torch has no C ABI",
        "Levels without any line in this run: checkpoint, memory, ownership, errors",
        "c = native = python = rust",
        "segmentation fault",
        "evidence for the tested configuration only",
    ):
        assert words in shown


def plot(**keys) -> str:
    styles = {name: Style(index) for index, name in enumerate("abcdefghijk")}
    return draw(Plot("P", "unit", keys.pop("curves"), styles, **keys))


def test_equal_curves_are_drawn_once_and_named_together() -> None:
    same = {1: 1.0, 2: 0.5, 3: 0.25}
    text = plot(curves={"a": same, "b": dict(same), "c": {**same, 3: 0.2500000000000001}})
    assert text.count("<polyline") == 2
    assert "a = b" in text and "a = b = c" not in text


def test_a_long_curve_is_thinned_but_keeps_its_spike_and_its_gap() -> None:
    curve = {update: 1.0 for update in range(1, 20_001)} | {7_777: 50.0, 15_000: float("nan")}
    text = plot(curves={"a": curve})
    points = [point for line in re.findall(r'points="([^"]*)"', text) for point in line.split()]
    assert len(points) < 700 and text.count("<polyline") == 2
    heights = [float(point.split(",")[1]) for point in points]
    assert sum(height < 50 for height in heights) == 1


def test_zero_has_a_rail_on_a_logarithmic_axis() -> None:
    text = plot(curves={"a": {1: 0.0, 2: 1e-7}}, logarithmic=True, bound=2e-5)
    assert ">0</text>" in text and "bound 2e-05" in text
    assert "nan" not in text.lower() and "inf" not in text.lower()


def test_what_is_not_finite_is_a_gap_and_is_counted() -> None:
    curve = {1: 1.0, 2: 2.0, 3: float("nan"), 4: 3.0, 5: float("inf"), 6: 1.0, 7: 2.0}
    text = plot(curves={"a": curve})
    assert text.count("<polyline") == 2 and text.count("<circle") == 5
    assert "2 values are not finite" in text


def test_nothing_to_draw_says_so() -> None:
    assert "Nothing was observed" in plot(curves={})
    assert "Nothing was observed" in plot(curves={"a": {1: float("nan")}})


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize(
    "curve", [{5: 1.0}, {1: 0.0, 2: 0.0}, {1: 3.0, 2: 3.0}, {1: -1.0, 900: 1e300}, {1: 1e-320}]
)
def test_odd_ranges_stay_inside_the_picture(curve: dict[int, float], logarithmic: bool) -> None:
    text = plot(curves={"a": curve}, logarithmic=logarithmic)
    places = [float(value) for value in re.findall(r' (?:c?[xy][12]?)="(-?[\d.]+)"', text)]
    assert places and all(-1 <= place <= 421 for place in places)
