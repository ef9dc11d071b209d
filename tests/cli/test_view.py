"""`hocket view`: a real server, asked by hand for what it must not give, and looked at with a real browser."""

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from in_process import hocket
from viewing import asked, viewed

from hocket.base.units import format_time
from hocket.report.astra_page import AstraFacts, astra_content

RING = "ring:4,bandwidth=1GB/s,latency=1us"
HOSTILE = "<img src=x onerror=alert(1)>'\"&\u202e|.json"
SECRET = "secret of others"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two predictions, one with a page, a check in a folder below, what is nobody's, and ways out of the folder."""
    place = tmp_path_factory.mktemp("view")
    folder = place / "results"
    (folder / "sub").mkdir(parents=True)
    for name, bandwidth in (("one", 1), ("two", 2)):
        topology = f"ring:4,bandwidth={bandwidth}GB/s,latency=1us"
        made = ["--json", f"{name}.json", *(["--report", "one.html"] if name == "one" else [])]
        assert hocket("simulate", "all_reduce", "-s", "1MiB", "-t", topology, *made, cwd=folder).returncode == 0
    assert hocket("topology", "check", RING, "--json", "sub/check.json", cwd=folder).returncode == 0
    content = json.loads((folder / "one.json").read_text())
    (folder / "trace.json").write_text('{"traceEvents": [], "otherData": null}')
    content["topology"]["name"] = content["notes"] = f"{HOSTILE}<script>alert(2)</script>"
    content["request"]["algorithm"] = ["</td><script>alert(3)</script>"]
    content["collectives"][0]["kind"] = "x" * 3_000_000 + "<script>alert(4)</script>"
    (folder / HOSTILE).write_text(json.dumps(content))
    (folder / "wrong.json").write_text('{"request": {"verb": "simulate", "what": [1]}, "time_ps": "<b>"}')
    image = '<img src="http://192.0.2.1/x" onerror="alert(5)">'
    (folder / "evil.html").write_text(f'<p id="evil">page</p><script>document.title = "ran"</script>{image}')
    (place / "secret.txt").write_text(SECRET)
    (folder / "link.txt").symlink_to(place / "secret.txt")
    (folder / "up").symlink_to(place)
    (folder / ".hidden.txt").write_text(SECRET)
    os.mkfifo(folder / "pipe.txt")
    return folder


@pytest.fixture(scope="module")
def address(results: Path) -> Iterator[str]:
    with viewed(results) as (_, address):
        yield address


OUTSIDE = [
    "/file/../secret.txt",
    "/file/%2e%2e/secret.txt",
    "/file/..%2fsecret.txt",
    "/file/sub/../../secret.txt",
    "/file/%252e%252e/secret.txt",
    "/file/..%5csecret.txt",
    "/file//etc/passwd",
    "/file/%2fetc%2fpasswd",
    "/file/link.txt",
    "/file/up/secret.txt",
    "/file/.hidden.txt",
    "/file/pipe.txt",
    "/file/sub",
    "/file/",
    "/file/one.json%00.html",
    "/file/./one.json",
    "/run/../secret.txt",
    "/run/link.txt",
    "/compare?first=../secret.txt&second=one.json",
    "/secret.txt",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_outside_of_the_folder_is_shown(path: str, address: str) -> None:
    status, _, body = asked(address, path)
    assert status == 404
    assert SECRET not in body and "root:" not in body


def test_what_is_no_address_is_refused(address: str) -> None:
    assert asked(address, "/compare?" + "&".join("a" * 20))[::2] == (400, "Bad Request\n")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil", ""])
def test_a_name_that_leads_here_from_elsewhere_is_refused(host: str, address: str) -> None:
    status, _, body = asked(address, "/", Host=host)
    assert status == 421 and "one.json" not in body


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:80"])
def test_its_own_names_are_not(host: str, address: str) -> None:
    assert asked(address, "/", Host=host)[0] == 200


def test_it_only_reads(address: str, results: Path) -> None:
    before = {path: path.lstat().st_mtime_ns for path in results.rglob("*")}
    assert asked(address, "/")[0] == asked(address, "/run/one.json")[0] == 200
    assert {asked(address, "/file/one.json", method)[0] for method in ("POST", "PUT", "DELETE", "OPTIONS")} == {501}
    assert {path: path.lstat().st_mtime_ns for path in results.rglob("*")} == before


def test_files_are_what_they_are_and_run_no_script(address: str, results: Path) -> None:
    status, headers, body = asked(address, "/file/one.json")
    assert (status, body) == (200, (results / "one.json").read_text())
    assert headers["Content-Type"].startswith("text/plain") and headers["X-Content-Type-Options"] == "nosniff"
    for path in ("/", "/run/one.json", "/file/evil.html"):
        policy = asked(address, path)[1]["Content-Security-Policy"]
        scripts = next(each for each in policy.split("; ") if each.startswith("script-src"))
        assert re.fullmatch(r"script-src 'sha256-[\w+/=]+'", scripts) and "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
    assert asked(address, "/file/one.json", "HEAD")[2] == ""


def test_a_port_that_is_taken_is_an_error(address: str, tmp_path: Path) -> None:
    done = hocket("view", tmp_path, "--listen", address)
    assert (done.returncode, "name another port" in done.stderr) == (3, True)


def test_odd_content_and_names_are_shown(results: Path, tmp_path: Path) -> None:
    content = json.loads((results / "one.json").read_text())
    content["empty"], content["parts"] = [{}, {}], [{"name": "x"}, {}]
    (tmp_path / os.fsdecode(b"\xff.json")).write_text(json.dumps(content))
    with viewed(tmp_path) as (_, address):
        status, _, body = asked(address, "/")
        assert status == 200 and 'href="/run/%FF.json"' in body
        assert asked(address, "/run/%FF.json")[0] == asked(address, "/file/%FF.json")[0] == 200


def test_json_alone_is_shown_as_its_report(results: Path, address: str, tmp_path: Path) -> None:
    _, _, body = asked(address, "/run/two.json")
    for title in ("Run", "Summary", "Timeline", "Collectives", "Ranks", "Critical path", "Topology and links"):
        assert f">{title}</h2>" in body
    form = json.loads((results / "two.json").read_text())
    del form["timeline"]  # as an older Hocket wrote it
    (tmp_path / "old.json").write_text(json.dumps(form))
    curves = ["simulate", "all_reduce", "-s", "1KiB..1MiB", "-t", RING]
    assert hocket(*curves, "--json", "curves.json", "--report", "curves.html", cwd=tmp_path).returncode == 0
    page = (tmp_path / "curves.html").read_text()
    with viewed(tmp_path) as (_, address):
        old = asked(address, "/run/old.json")[2]
        assert "no report can be made of it" in old and ">links</h2>" in old and "Critical path" not in old
        sections = asked(address, "/run/curves.json")[2]
        charts = re.findall("<svg.*?</svg>", page, re.DOTALL)
        assert charts and all(chart in sections for chart in charts)


def test_what_neither_prediction_has_is_no_news(address: str) -> None:
    body = asked(address, "/compare?first=one.json&second=two.json")[2]
    assert "waits, summed over ranks" in body and ">-</td>" in body and ">new</td>" not in body


def test_other_json_is_shown_in_units_and_flat(tmp_path: Path) -> None:
    load = ["--load", "50%", "--duration", "20us", "--json", "traffic.json"]
    assert hocket("traffic", "uniform", "-t", RING, *load, cwd=tmp_path).returncode == 0
    form = json.loads((tmp_path / "traffic.json").read_text())
    del form["ranks"]  # as an older Hocket wrote it, from which no page can be made
    (tmp_path / "traffic.json").write_text(json.dumps(form))
    with viewed(tmp_path) as (_, address):
        shown = asked(address, "/run/traffic.json")[2]
    assert "no report can be made of it" in shown and "run its command again" in shown
    assert "latency: intra: p50_ps" in shown and "{&#x27;" not in shown and "{'" not in shown.partition("<script>")[0]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", shown)
    assert cells and not [cell for cell in cells if re.fullmatch(r"[\d.]*\.\d{7,}|\d{9,}(\.\d+)?", cell)]


def test_astra_sim_s_result_has_a_page(tmp_path: Path) -> None:
    system = Path(__file__).parents[2] / "examples" / "astra" / "system.json"
    (tmp_path / "network.yml").write_text("topology: [Ring]\nnpus_count: [16]\nbandwidth: [50.0]\nlatency: [500.0]\n")
    job = ["collective", "all_reduce", "--ranks", "16", "--size", "64MiB", "--profile", "astra-sim", "-o", "w/"]
    assert hocket("generate", *job, cwd=tmp_path).returncode == 0
    files = ["--network", "network.yml", "--system", system, "--json", "astra.json"]
    assert hocket("simulate", "w/", "--compat", "astra-sim", *files, cwd=tmp_path).returncode == 0
    form = json.loads((tmp_path / "astra.json").read_text())
    with viewed(tmp_path) as (_, address):
        shown, runs = asked(address, "/run/astra.json")[2], asked(address, "/")[2]
    assert re.findall(r"<td[^>]*>([^<]*)</td>", shown) == ["0 to 15", *[f"{form['time_ns']:,} ns"] * 2]
    assert "local-mem-bw is not given" in shown and f"{form['time_ns']:,} cycles; rank 0 is last" in shown
    assert f"{format_time(1000 * form['time_ns'])} on 16 ranks" in runs
    # One that ends earlier than it computed wraps, as in ASTRA-sim; ranks that differ have rows of their own.
    form["exposed_ns"] |= {"3": 2**64 - 5}
    page = astra_content(msgspec.convert(form, AstraFacts)).html()
    assert re.findall(r"<td[^>]*>([^<]*)</td>", page)[::3] == ["0 to 2", "3", "4 to 15"]
    assert f"{2**64 - 5:,} ns" in page and "modulo 2^64" in page


def test_files_that_are_of_no_run_are_named_with_the_reason(tmp_path: Path) -> None:
    assert hocket("topology", "check", RING, "--json", tmp_path / "check.json").returncode == 0
    (tmp_path / "cut.json").write_text((tmp_path / "check.json").read_text()[:100])
    (tmp_path / "junk.json").write_bytes(b"\xff\x00{")
    (tmp_path / "empty.json").write_text("{}")
    done = hocket("view", tmp_path, "--list")
    unreadable = "cut.json, junk.json: not readable as JSON: cut off, or of another format"
    assert f"\nleft out: {unreadable}\nleft out: empty.json: holds no request\n" in done.stdout
    with viewed(tmp_path) as (_, address):
        assert unreadable in asked(address, "/")[2]
        (tmp_path / "cut.json").unlink()
        assert "cut.json" not in asked(address, "/")[2]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_it_cleanly(ending: signal.Signals, tmp_path: Path) -> None:
    with viewed(tmp_path) as (process, address):
        assert "No results yet" in asked(address, "/")[2]
        process.send_signal(ending)
        _, error = process.communicate(timeout=20)
        assert (process.returncode, error) == (0, "ended\n")


def test_runs_are_listed_without_a_server(results: Path, tmp_path: Path) -> None:
    done = hocket("view", results, "--list", "--json", tmp_path / "runs.json")
    assert done.returncode == 0, done.stderr
    assert not {"\u202e", "\x1b"} & {*done.stdout}
    runs = json.loads((tmp_path / "runs.json").read_text())["tables"]["runs"]
    at = runs["path"].index("one.json")
    assert runs["time_ps"][at] == json.loads((results / "one.json").read_text())["time_ps"]
    assert runs["command"][at].startswith("hocket simulate all_reduce --topology ring:4,bandwidth=1GB/s")
    assert {*runs["path"]} == {"one.json", "two.json", "sub/check.json", HOSTILE}
    absent = hocket("view", tmp_path / "absent", "--list")
    assert (absent.returncode, "is no folder" in absent.stderr) == (3, True)


def test_pages_alone_say_what_they_came_to(tmp_path: Path) -> None:
    traces, load = Path(__file__).parents[2] / "examples" / "traces", ["--load", "50%", "--duration", "50us"]
    step = ["step", traces, "-t", RING, "--no-what-if"]
    assert hocket(*step, "--report", tmp_path / "step.html").returncode == 0
    assert hocket("traffic", "uniform", "-t", RING, *load, "--report", tmp_path / "traffic.html").returncode == 0
    assert hocket("traffic", "uniform", "-t", RING, *load, "--json", tmp_path / "traffic.json").returncode == 0
    done = hocket("view", tmp_path, "--list", "--json", tmp_path / "runs.json")
    assert done.returncode == 0, done.stderr
    runs = json.loads((tmp_path / "runs.json").read_text())["tables"]["runs"]
    said = dict(zip(runs["path"], runs["headline"], strict=True))
    assert re.fullmatch(rf"[\d.]+ ms per step on {re.escape(RING)}: computation [\d.]+%, .*", said["step.html"])
    assert said["traffic.html"] == said["traffic.json"]
    other = tmp_path.parent / "step.json"
    assert hocket(*step, "--json", other).returncode == 0
    form, at = json.loads(other.read_text()), runs["path"].index("step.html")
    assert (runs["time_ps"][at], runs["bound_ps"][at]) == (form["time_ps"], form["bound_ps"])
    assert said["traffic.json"].startswith(f"uniform on {RING}: saturation none up to 50% of the load")


@pytest.mark.browser
def test_runs_are_shown_and_compared_and_hostile_names_do_no_harm(results: Path, address: str, browser: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python").Axe()
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    problems: list[str] = []
    hosts: set[str] = set()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    page.goto(f"http://{address}/")
    table = page.get_by_role("table", name="runs")
    assert table.locator("tbody tr").count() == 4 and page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert axe.run(page).violations_count == 0, axe.run(page).generate_report()
    page.get_by_role("button", name="what it came to").click()  # the page's own script runs
    assert table.locator("th").nth(2).get_attribute("aria-sort") == "ascending"
    page.get_by_label("First").select_option("one.json")
    page.get_by_label("Second").select_option("two.json")
    page.get_by_role("button", name="Compare").click()
    done = hocket("compare", results / "one.json", results / "two.json")
    faster = re.search(r"  time +.* (\S+%)\n", done.stdout)
    first = page.get_by_role("table", name="differences").first.locator("tbody tr").first
    assert faster and first.inner_text().endswith(faster[1])
    assert axe.run(page).violations_count == 0, axe.run(page).generate_report()
    page.get_by_role("link", name="All runs").click()
    page.get_by_role("link", name="one.json", exact=True).click()
    time = page.locator(".card .value").nth(1).inner_text()
    assert time in hocket("simulate", "all_reduce", "-s", "1MiB", "-t", RING).stdout
    page.get_by_role("link", name="Report").click()
    assert page.get_by_role("heading", name="Provenance").is_visible()
    page.get_by_role("button", name="Dark colours").click()
    page.goto(f"http://{address}/run/{quote(HOSTILE)}")
    assert "<script>alert(2)</script>" in page.locator("main").inner_text()
    assert axe.run(page).violations_count == 0, axe.run(page).generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") == 1280
    assert (problems, hosts) == ([], {address})
    page.goto(f"http://{address}/file/evil.html")
    assert page.locator("#evil").is_visible() and page.title() != "ran"
    assert problems and all("Content Security Policy" in each for each in problems)
    shutil.rmtree(results / "sub")
    page.goto(f"http://{address}/")
    assert table.locator("tbody tr").count() == 3
    context.close()
