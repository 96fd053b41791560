"""Sign-in at the web console: by a link, a password, an OpenID provider and a proxy; with several job
trackers and over restarts."""

import http.client
import json
import pathlib
import re
import threading
import time
import urllib.parse

import harness
from harness import E2eTest, wait_for
from oidc_provider import CLIENT, SECRET, OidcProvider, SigningKey

SESSION = "/api/v1/session"
PASSWORD = "correct horse battery"
BOUND = 5.0  # seconds until a change counts at every job tracker


class Browser:
    """Keeps cookies, and sends the token against foreign pages as the console's pages do."""

    def __init__(self, port, headers=()):
        self.port, self.headers = port, dict(headers)
        self.cookies, self.csrf = {}, ""

    def ask(self, method, target, body=None, port=None, csrf=True, headers=()):
        """The status, the headers and the body, as JSON if it is."""
        sent = {**self.headers, **dict(headers)}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if csrf and method != "GET" and self.csrf:
            sent["X-CSRF-Token"] = self.csrf
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=60)
        connection.request(method, target, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        text = answer.read().decode()
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.split(";")[0].partition("=")
            self.cookies[name] = value
        connection.close()
        try:
            content = json.loads(text)
        except ValueError:
            content = text
        if isinstance(content, dict) and "csrf_token" in content:
            self.csrf = content["csrf_token"]
        return answer.status, answer.headers, content

    def sign_in(self, name, password=PASSWORD, **more):
        return self.ask("POST", SESSION, {"name": name, "password": password}, **more)[0]

    def session(self, port=None):
        def answered():
            answer = self.ask("GET", SESSION, port=port)
            return None if answer[0] == 503 else answer  # it is starting
        status, _, body = wait_for("an answer", answered)
        assert status == 200, (status, body)
        return body

    def is_signed_in(self, port=None):
        return self.session(port)["signed_in"]

    def follow(self, url):
        """Goes to an address of this server or another one, without following redirects."""
        url = urllib.parse.urlparse(url)
        return self.ask("GET", f"{url.path}?{url.query}", port=url.port)


def location(answer):
    status, headers, body = answer
    assert status == 302, (status, body)
    return headers["Location"]


class SignInTest(E2eTest):
    def start(self, *flags, store="sqlite"):
        self.port = harness.free_port()
        self.one = self.cluster(store, flags=("--http", f"127.0.0.1:{self.port}", *flags))
        return Browser(self.port)

    def secret_file(self, name, text):
        file = pathlib.Path(self.folder) / name
        file.touch(0o600)
        file.write_text(text, "utf-8")
        return file

    def add_user(self, name="anna", role="editor"):
        self.one.client("users", "new", name, "--role", role, "--group", "*", "--password-file", "-",
                        stdin=PASSWORD)

    def link(self):
        shown = self.one.client("-o", "json", "console", "--print").json()
        return re.fullmatch(r"http://127\.0\.0\.1:\d+/#/login\?one_time=(.+)", shown["link"]).group(1)


class Sessions(SignInTest):
    def test_the_local_administrator_signs_in_by_a_link_and_makes_a_user(self):
        browser = self.start()
        link = self.link()
        status, headers, body = browser.ask("POST", SESSION, {"one_time": link})
        self.assertEqual(status, 200, body)
        self.assertEqual((body["principal"]["kind"], body["principal"]["role"]), ("local", "admin"))
        self.assertRegex(headers["Set-Cookie"], "HttpOnly; SameSite=Strict")
        self.assertEqual(Browser(self.port).ask("POST", SESSION, {"one_time": link})[0], 401)
        status, _, body = browser.ask("POST", "/api/v1/users", {
            "name": "anna", "role": "viewer", "groups": ["*"], "password": PASSWORD})
        self.assertIn(status, (200, 201), body)
        anna = Browser(self.port)
        self.assertEqual(anna.sign_in("anna"), 200)
        self.assertEqual(anna.session()["principal"]["role"], "viewer")
        self.assertEqual(anna.ask("POST", "/api/v1/users", {"name": "eve"})[0], 403)

    def test_there_is_no_default_password_and_no_secret_in_the_log(self):
        browser = self.start("--log-level", "debug")
        for name in ("admin", "root", "carillon"):
            self.assertEqual(browser.sign_in(name, name), 401)
        link = self.link()
        browser.ask("POST", SESSION, {"one_time": link})
        log = self.one.tracker.log()
        for secret in (*link.split("."), browser.cookies["carillon_session"], "one_time"):
            self.assertNotIn(secret, log)
        self.assertEqual(browser.ask("GET", "/api/v1/jobs")[0], 200)
        self.assertEqual(Browser(self.port).ask("GET", "/api/v1/jobs")[0], 401)

    def test_sessions_survive_a_restart_and_end_by_sign_out(self):
        browser = self.start()
        self.add_user()
        self.assertEqual(browser.sign_in("anna"), 200)
        self.one.tracker.kill()
        self.one.start_tracker()
        wait_for("the session", browser.is_signed_in)
        copied = Browser(self.port)
        copied.cookies = dict(browser.cookies)
        self.assertEqual(browser.ask("DELETE", SESSION, csrf=False)[0], 403)
        self.assertTrue(copied.is_signed_in())
        self.assertEqual(browser.ask("DELETE", SESSION)[0], 200)
        wait_for("the end of the copied session", lambda: not copied.is_signed_in(), patience=BOUND)

    def test_own_password_and_language(self):
        browser, other = self.start(), Browser(self.port)
        self.add_user()
        self.assertEqual((browser.sign_in("anna"), other.sign_in("anna")), (200, 200))
        self.assertEqual(browser.ask("PUT", f"{SESSION}/language", {"language": "zh"})[0], 200)
        self.assertEqual(other.session()["principal"]["language"], "zh")
        change = {"old": PASSWORD, "new": "another passphrase"}
        self.assertEqual(browser.ask("PUT", f"{SESSION}/password", {**change, "old": "x"})[0], 403)
        self.assertEqual(browser.ask("PUT", f"{SESSION}/password", change)[0], 200)
        self.assertTrue(browser.is_signed_in())
        wait_for("the end of the other session", lambda: not other.is_signed_in(), patience=2 * BOUND)
        self.assertEqual(other.sign_in("anna"), 401)
        self.assertEqual(other.sign_in("anna", "another passphrase"), 200)
        changed = [row for row in self.one.rows("audit") if row["by"] == "anna"]
        self.assertEqual({row["kind"] for row in changed}, {"user"}, changed)
        self.assertNotIn("argon2", json.dumps(changed))

    def test_guesses_are_slowed_down(self):
        browser = self.start()
        self.add_user()

        def guess():
            status, headers, _ = browser.ask("POST", SESSION, {"name": "anna", "password": "guess"})
            return status == 429 and headers["Retry-After"]
        self.assertTrue(any(guess() for _ in range(30)), "all guesses were checked")

    def test_a_read_only_console(self):
        browser = self.start("--console-read-only")
        self.add_user(role="admin")
        self.assertEqual(browser.sign_in("anna"), 200)
        self.assertTrue(browser.session()["read_only"])
        status, _, body = browser.ask("POST", "/api/v1/jobs", {"task_id": "x", "shell": "true"})
        self.assertEqual((status, body["code"]), (403, "denied"))
        self.assertEqual(browser.ask("GET", "/api/v1/jobs")[0], 200)
        self.assertEqual(browser.ask("DELETE", SESSION)[0], 200)


class SeveralJobTrackers(SignInTest):
    uses_mariadb = True

    def setUp(self):
        super().setUp()
        self.start(store=self.mariadb)
        first = self.one.tracker
        self.addCleanup(first.kill)
        self.first_port, self.ports = self.one.port, [self.port, harness.free_port()]
        self.one.port = harness.free_port()
        self.one.flags = ["--http", f"127.0.0.1:{self.ports[1]}", "--name", "second"]
        self.one.start_tracker()
        self.add_user()

    def browser(self):
        browser = Browser(self.ports[0])
        wait_for("the sign-in", lambda: browser.sign_in("anna") == 200, patience=BOUND)
        wait_for("the session at the other job tracker",
                 lambda: browser.is_signed_in(self.ports[1]), patience=BOUND)
        return browser

    def assert_ends_everywhere(self, browsers, end):
        end()
        begin = time.monotonic()
        wait_for("the end of all sessions", lambda: not any(
            browser.is_signed_in(port) for browser in browsers for port in self.ports))
        self.assertLess(time.monotonic() - begin, BOUND * harness.slowness())

    def test_sign_out_everywhere(self):
        one, two = self.browser(), self.browser()
        copied = Browser(self.port)
        copied.cookies = dict(one.cookies)
        self.assert_ends_everywhere(
            [copied, two], lambda: one.ask("DELETE", f"{SESSION}?everywhere=true", port=self.ports[1]))
        self.browser()

    def test_removal_of_the_user(self):
        self.assert_ends_everywhere([self.browser()], lambda: self.one.client("users", "remove", "anna"))

    def test_a_link_works_once(self):
        link, found = self.link(), []

        def use(port):
            found.append(Browser(port).ask("POST", SESSION, {"one_time": link})[0])
        users = [threading.Thread(target=use, args=[port]) for port in self.ports * 2]
        for user in users:
            user.start()
        for user in users:
            user.join()
        self.assertEqual(sorted(found), [200, 401, 401, 401])


class Oidc(SignInTest):
    def setUp(self):
        super().setUp()
        self.provider = OidcProvider(self.folder)
        self.addCleanup(self.provider.close)
        secret = self.secret_file("client-secret", SECRET)
        self.browser = self.start("--oidc-issuer", self.provider.issuer, "--oidc-client-id", CLIENT,
                                  "--oidc-client-secret-file", secret,
                                  "--oidc-role", "groups=ops:operator:billing-*|mail")

    def sign_in(self):
        """Where the console is after it, and the redirect of the provider."""
        there = location(self.browser.ask("GET", "/api/v1/oidc/start"))
        self.assertTrue(there.startswith(f"{self.provider.issuer}/auth?"), there)
        back = location(Browser(0).follow(there))
        return location(self.browser.follow(back)), back

    def test_signs_in_with_the_role_of_a_rule(self):
        where, back = self.sign_in()
        self.assertEqual(where, "/")
        principal = self.browser.session()["principal"]
        self.assertEqual((principal["kind"], principal["name"], principal["role"], principal["groups"]),
                         ("oidc", "carl", "operator", ["billing-*", "mail"]))
        self.assertIn("login?error=", location(self.browser.follow(back)), "a code works once")
        stranger = Browser(self.port)
        self.assertIn("login?error=", location(stranger.follow(self.sign_in_elsewhere())))
        self.assertFalse(stranger.is_signed_in())

    def sign_in_elsewhere(self):
        return location(Browser(0).follow(location(self.browser.ask("GET", "/api/v1/oidc/start"))))

    def test_takes_new_keys_of_the_provider(self):
        self.provider.key = SigningKey(self.folder, "ES256", "second")
        self.assertEqual(self.sign_in()[0], "/")

    def test_refuses_who_has_no_role(self):
        self.provider.claims["groups"] = ["dev"]
        self.assertIn("has%20no%20role", self.sign_in()[0])
        self.assertFalse(self.browser.is_signed_in())
        add = ("--role", "viewer", "--group", "*", "--no-password")
        self.one.client("users", "new", "carl", *add)  # a name that people may choose
        self.assertIn("has%20no%20role", self.sign_in()[0])
        self.one.client("users", "new", "4711", *add)
        self.assertEqual(self.sign_in()[0], "/")
        self.assertEqual(self.browser.session()["principal"]["role"], "viewer")

    def test_refuses_wrong_tokens(self):
        for claims in ({"aud": "another"}, {"iss": "http://127.0.0.1:1"}, {"exp": 1000}, {"nonce": "x"}):
            with self.subTest(claims):
                before = dict(self.provider.claims)
                self.provider.claims.update(claims)
                self.assertIn("login?error=", self.sign_in()[0])
                self.assertFalse(self.browser.is_signed_in())
                self.provider.claims = before


class Proxy(SignInTest):
    RULES = ("--proxy-user-header", "X-Remote-User", "--proxy-groups-header", "X-Remote-Groups",
             "--proxy-role", "groups=ops:operator:*")
    OPS = {"X-Remote-User": "dora", "X-Remote-Groups": "dev, ops",
           "X-Carillon-Proxy-Secret": "between us"}

    def setUp(self):
        super().setUp()
        self.rules = (*self.RULES, "--proxy-secret-file", self.secret_file("proxy-secret", "between us\n"))

    def test_the_proxy_names_the_user(self):
        self.start(*self.rules, "--behind-proxy", "127.0.0.1/32")
        browser = Browser(self.port, self.OPS)
        principal = browser.session()["principal"]
        self.assertEqual((principal["kind"], principal["name"], principal["role"]),
                         ("proxy", "dora", "operator"))
        self.assertEqual(browser.ask("GET", "/api/v1/jobs")[0], 200)
        self.assertEqual(browser.ask("POST", "/api/v1/jobs/default/x:suspend", csrf=False)[0], 403)
        self.assertEqual(browser.ask("POST", "/api/v1/jobs/default/x:suspend")[0], 404)
        self.assertFalse(Browser(self.port, {**self.OPS, "X-Remote-Groups": "dev"}).is_signed_in())

    def test_other_programs_at_the_address_of_the_proxy_cannot_name_a_user(self):
        self.start(*self.rules, "--behind-proxy", "127.0.0.1/32")
        for secret in ("", "between", "between us, between us"):
            browser = Browser(self.port, {**self.OPS, "X-Carillon-Proxy-Secret": secret})
            self.assertFalse(browser.is_signed_in(), secret)
            self.assertEqual(browser.ask("GET", "/api/v1/jobs")[0], 401)

    def test_others_cannot_name_a_user(self):
        self.start(*self.rules, "--behind-proxy", "192.0.2.0/24")
        browser = Browser(self.port, self.OPS)
        self.assertFalse(browser.is_signed_in())
        self.assertEqual(browser.ask("GET", "/api/v1/jobs")[0], 401)

    def test_needs_the_address_and_the_secret_of_the_proxy(self):
        for flags, missing in ((self.rules, "--behind-proxy"),
                               ((*self.RULES, "--behind-proxy", "127.0.0.1/32"), "--proxy-secret-file")):
            with self.subTest(missing):
                one = self.cluster(tracker=False, flags=flags)
                tracker = one.start_tracker(wait=False)
                self.assertEqual(tracker.wait(), 2)
                self.assertIn(f"--proxy-user-header needs {missing}", tracker.log())


if __name__ == "__main__":
    harness.main()
