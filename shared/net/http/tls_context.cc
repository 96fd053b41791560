#include "shared/net/http/tls_context.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include "shared/base/secret_file.h"
#include "shared/net/networks.h"

namespace carillon::net {
namespace {

constexpr const char* kCertificate = "--http-cert";
constexpr const char* kKey = "--http-key";
// Of TLS 1.2: with forward secrecy and authenticated encryption. TLS 1.3 has no others.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

// Without it OpenSSL would ask for the passphrase on the terminal.
int no_passphrase(char*, int, int, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return 0;
}

// The error of OpenSSL for a missing file names its source code.
Status check_readable(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return invalid(std::string{kCertificate} + " " + path + " cannot be read: " +
                   std::strerror(errno) + " (give a PEM file that this user may read)");
  }
  ::close(fd);
  return {};
}

Status use_certificate(SSL_CTX* context, const std::string& path) {
  CARILLON_TRY(check_readable(path));
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, path.c_str()) == 1) return {};
  return invalid(std::string{kCertificate} + " " + path +
                 " is not a usable certificate: " + take_tls_error("it cannot be read") +
                 " (give a PEM file with the certificate and then those of its authorities)");
}

Status use_key(SSL_CTX* context, const std::string& path, const std::string& certificate) {
  auto text = read_secret_file(path);
  if (!text.ok()) return text.error().with_context(kKey);
  ERR_clear_error();
  const std::unique_ptr<BIO, decltype(&BIO_free)> source(
      BIO_new_mem_buf(text.value().data(), static_cast<int>(text.value().size())), BIO_free);
  bool is_encrypted = false;
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(source.get(), nullptr, no_passphrase, &is_encrypted), EVP_PKEY_free);
  OPENSSL_cleanse(text.value().data(), text.value().size());
  if (is_encrypted) {
    return invalid(
        std::string{kKey} + " " + path +
        " is encrypted with a passphrase (store the key without one, with openssl pkey)");
  }
  if (!key) {
    return invalid(std::string{kKey} + " " + path +
                   " is not a private key: " + take_tls_error("it cannot be read") +
                   " (give a PEM file with the private key of the certificate)");
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1)
    return {};
  ERR_clear_error();
  return invalid(std::string{kKey} + " " + path + " does not belong to the certificate in " +
                 kCertificate + " " + certificate +
                 " (give the key that was made for this certificate)");
}

Error no_context() {
  return {ErrorCode::kUnavailable, "TLS cannot be used: " + take_tls_error("out of memory")};
}

}  // namespace

std::string take_tls_error(const std::string& otherwise) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? otherwise : reason;
}

Result<TlsContext> TlsContext::open(const std::string& ca_file, std::string option) {
  TlsContext context{std::move(option)};
  context.context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const raw = context.get();
  if (raw == nullptr) return no_context();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  if (ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(raw);  // Without certificates, none is trusted.
  } else if (SSL_CTX_load_verify_locations(raw, ca_file.c_str(), nullptr) != 1) {
    return Error{ErrorCode::kInvalidArgument,
                 context.option_ + " " + ca_file +
                     " contains no PEM certificates: " + take_tls_error("it cannot be read")};
  }
  return context;
}

Result<TlsContext> TlsContext::open_server(const std::string& certificate, const std::string& key) {
  TlsContext context{kCertificate};
  context.context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* const raw = context.get();
  if (raw == nullptr) return no_context();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_cipher_list(raw, kCiphers);
  // Idle connections keep no buffers, and no sessions are kept for later connections: clients keep
  // them, in tickets.
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  CARILLON_TRY(use_certificate(raw, certificate));
  CARILLON_TRY(use_key(raw, key, certificate));
  return context;
}

bool TlsContext::names(const std::string& host) const {
  X509* const certificate = SSL_CTX_get0_certificate(get());
  if (certificate == nullptr || host.empty()) return false;
  if (is_numeric_address(host)) return X509_check_ip_asc(certificate, host.c_str(), 0) == 1;
  return X509_check_host(certificate, host.data(), host.size(), 0, nullptr) == 1;
}

}  // namespace carillon::net
