#include "tests/support/tls_conversation.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include "carillon/abort.h"

namespace carillon::testing {
namespace {

constexpr long kHour = 3600;

std::shared_ptr<X509> new_certificate(EVP_PKEY* key, const std::string& names) {
  std::shared_ptr<X509> made(X509_new(), X509_free);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -kHour);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), kHour);
  X509_NAME* const name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("a test"), -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  X509_set_pubkey(made.get(), key);
  X509_EXTENSION* const whom =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
  X509_add_ext(made.get(), whom, -1);
  X509_EXTENSION_free(whom);
  if (X509_sign(made.get(), key, EVP_sha256()) == 0)
    abort_with("cannot make a certificate", names.c_str());
  return made;
}

}  // namespace

Certificate::Certificate(const std::string& names)
    : context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that may be closed.
  const std::shared_ptr<EVP_PKEY> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const auto certificate = new_certificate(key.get(), names);
  const std::shared_ptr<std::FILE> out(std::fopen(file().c_str(), "w"), std::fclose);
  const std::shared_ptr<std::FILE> secret(std::fopen(key_file().c_str(), "w"), std::fclose);
  if (!out || PEM_write_X509(out.get(), certificate.get()) != 1 || !secret ||
      ::fchmod(::fileno(secret.get()), S_IRUSR | S_IWUSR) != 0 ||
      PEM_write_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      SSL_CTX_use_certificate(context(), certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context(), key.get()) != 1) {
    abort_with("cannot keep a certificate", file().c_str());
  }
}

TlsConversation::TlsConversation(const Certificate& certificate, const Conversation& plain)
    : ssl_(SSL_new(certificate.context()), SSL_free) {
  SSL_set_fd(ssl_.get(), plain.fd());
  is_open_ = SSL_accept(ssl_.get()) == 1;
}

std::string TlsConversation::read_request() {
  constexpr std::string_view kLength = "Content-Length: ";
  while (is_open_) {
    const std::size_t head = rest_.find("\r\n\r\n");
    if (head != std::string::npos) {
      const std::size_t length = rest_.find(kLength);
      const std::size_t size = head + 4 + std::stoul(rest_.substr(length + kLength.size()));
      if (rest_.size() >= size) {
        std::string request = rest_.substr(0, size);
        rest_.erase(0, size);
        return request;
      }
    }
    std::array<char, 4096> bytes{};
    const int got = SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (got <= 0) break;
    rest_.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return {};
}

void TlsConversation::answer(std::string_view body) {
  const std::string text = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) +
                           "\r\n\r\n" + std::string{body};
  SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size()));
}

void TlsConversation::close() { SSL_shutdown(ssl_.get()); }

}  // namespace carillon::testing
