"""A small OpenID provider: everybody who comes is the person that `claims` describes.

It signs its tokens with the openssl command. It checks what a provider must check: the client, its
secret, the redirect address and the PKCE verifier.
"""

import base64
import hashlib
import http.server
import json
import pathlib
import secrets
import subprocess
import threading
import time
import urllib.parse

CLIENT, SECRET = "carillon-console", "client secret"


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*args, stdin=None):
    return subprocess.run(["openssl", *map(str, args)], input=stdin, check=True,
                          capture_output=True).stdout


def numbers_of(signature):
    """An ECDSA signature as JSON Web Tokens have it: two numbers of 32 bytes."""
    numbers, rest = b"", signature[2:]
    for _ in range(2):
        size = rest[1]
        numbers += rest[2:2 + size].lstrip(b"\0").rjust(32, b"\0")
        rest = rest[2 + size:]
    return numbers


class SigningKey:
    def __init__(self, folder, algorithm, name):
        self.path = pathlib.Path(folder) / f"{name}.key"
        self.algorithm, self.name = algorithm, name
        if algorithm == "RS256":
            openssl("genrsa", "-out", self.path, "2048")
        else:
            openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.path)

    def jwk(self):
        key = {"kid": self.name, "alg": self.algorithm, "use": "sig"}
        if self.algorithm == "RS256":
            modulus = openssl("rsa", "-in", self.path, "-noout", "-modulus").decode().split("=")[1]
            return {**key, "kty": "RSA", "n": encoded(bytes.fromhex(modulus.strip())), "e": "AQAB"}
        point = openssl("ec", "-in", self.path, "-pubout", "-outform", "DER")[-64:]
        return {**key, "kty": "EC", "crv": "P-256", "x": encoded(point[:32]), "y": encoded(point[32:])}

    def token(self, claims):
        head = {"alg": self.algorithm, "kid": self.name, "typ": "JWT"}
        text = ".".join(encoded(json.dumps(part).encode()) for part in (head, claims))
        signature = openssl("dgst", "-sha256", "-sign", self.path, stdin=text.encode())
        if self.algorithm == "ES256":
            signature = numbers_of(signature)
        return f"{text}.{encoded(signature)}"


class OidcProvider:
    """Serves until close(). `claims` and `key` may be changed in between."""

    def __init__(self, folder, algorithm="RS256"):
        self.folder = folder
        self.key = SigningKey(folder, algorithm, "first")
        self.claims = {"sub": "4711", "preferred_username": "carl", "groups": ["ops"]}
        self.codes = {}
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def answer(self, status, body=None, location=None):
                self.send_response(status)
                if location:
                    self.send_header("Location", location)
                text = json.dumps(body).encode() if body is not None else b""
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                url = urllib.parse.urlparse(self.path)
                if url.path == "/.well-known/openid-configuration":
                    self.answer(200, provider.configuration())
                elif url.path == "/keys":
                    self.answer(200, {"keys": [provider.key.jwk()]})
                elif url.path == "/auth":
                    query = dict(urllib.parse.parse_qsl(url.query))
                    self.answer(302, location=provider.authorize(query))
                else:
                    self.answer(404)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = dict(urllib.parse.parse_qsl(body))
                self.answer(*provider.token(form, self.headers.get("Authorization", "")))

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def configuration(self):
        return {"issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/auth",
                "token_endpoint": f"{self.issuer}/token", "jwks_uri": f"{self.issuer}/keys",
                "scopes_supported": ["openid", "groups"]}

    def authorize(self, query):
        """Where the browser goes after the person has signed in."""
        assert query["client_id"] == CLIENT and query["response_type"] == "code", query
        assert query["code_challenge_method"] == "S256" and "openid" in query["scope"].split(), query
        code = secrets.token_urlsafe()
        self.codes[code] = query
        answer = urllib.parse.urlencode({"code": code, "state": query["state"], "iss": self.issuer})
        return f"{query['redirect_uri']}?{answer}"

    def token(self, form, authorization):
        pair = ":".join(urllib.parse.quote(part, safe="") for part in (CLIENT, SECRET))
        if authorization != f"Basic {base64.b64encode(pair.encode()).decode()}":
            return 401, {"error": "invalid_client"}
        query = self.codes.pop(form["code"], None)  # A code works once.
        challenge = encoded(hashlib.sha256(form["code_verifier"].encode()).digest())
        if (not query or query["redirect_uri"] != form["redirect_uri"]
                or query["code_challenge"] != challenge or form["grant_type"] != "authorization_code"):
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300,
                  "nonce": query["nonce"], **self.claims}
        return 200, {"access_token": "unused", "token_type": "Bearer",
                     "id_token": self.key.token(claims)}
