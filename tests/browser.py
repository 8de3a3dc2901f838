"""A real browser, if there is one: a Chromium on PATH and its chromedriver, for pages that must work in it."""

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
