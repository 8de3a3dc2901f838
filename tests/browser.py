"""A real browser, if there is one: a Chromium on PATH and its chromedriver, for pages that must work in it."""

import json
import re
import shutil
from contextlib import contextmanager

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]


def installed():
    """The paths of browser and driver, None where one is missing."""
    browsers = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    return next(filter(None, browsers), None), shutil.which("chromedriver")


@contextmanager
def chromium(profile, width=1000, height=900, scheme="light", scale=1):
    """Driven by selenium, with a fresh profile in the folder; no driver is ever downloaded."""
    from selenium import webdriver

    binary, driver = installed()
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in [*FLAGS, f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
        yield browser
    finally:
        browser.quit()


def opened(browser, path):
    """A page that complains of nothing and asks for nothing but itself."""
    browser.get("about:blank")  # else the page that a new browser opens may still be loading
    browser.get_log("performance")
    browser.get(path.as_uri())
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert {url for url in asked if not url.startswith("data:")} == {path.as_uri()}
    return browser


def luminance(colour):
    """Relative luminance as WCAG 2.1 defines it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
