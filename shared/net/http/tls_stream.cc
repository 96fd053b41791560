#include "shared/net/http/tls_stream.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "shared/base/assert.h"
#include "shared/net/networks.h"

namespace carillon::net {
namespace {

int length(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

}  // namespace

TlsStream::TlsStream(const TlsContext& context, int fd, const std::string& host)
    : option_(context.option()), ssl_(SSL_new(context.get())) {
  CARILLON_ASSERT(ssl_ != nullptr, "memory is available");
  SSL_set_connect_state(ssl_.get());
  is_broken_ = SSL_set_fd(ssl_.get(), fd) != 1;
  if (is_numeric_address(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), host.c_str());
  } else {
    std::string name = host;  // SSL_set_tlsext_host_name() is a macro with a cast in C's style.
    SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
    SSL_set1_host(ssl_.get(), host.c_str());
  }
}

TlsStream::TlsStream(const TlsContext& context, int fd)
    : option_(context.option()), ssl_(SSL_new(context.get())) {
  // A server must survive where its clients use up the memory.
  is_broken_ = ssl_ == nullptr || SSL_set_fd(ssl_.get(), fd) != 1;
  if (is_broken_) {
    error_ = take_tls_error("out of memory");
  } else {
    SSL_set_accept_state(ssl_.get());
  }
}

TlsStream::Step TlsStream::step_of(int returned) {
  const int errno_then = errno;
  switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ:
      return Step::kWantsRead;
    case SSL_ERROR_WANT_WRITE:
      return Step::kWantsWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Step::kEnd;
    case SSL_ERROR_SYSCALL:
      was_cut_ = errno_then == 0 || errno_then == ECONNRESET;
      error_ = errno_then == 0 ? "the connection was closed"
                               : std::system_category().message(errno_then);
      break;
    default:
      was_cut_ = ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
      error_ = take_tls_error("a TLS error");
  }
  is_broken_ = true;
  return Step::kBroken;
}

TlsStream::Step TlsStream::handshake() {
  if (is_broken_) return Step::kBroken;
  ERR_clear_error();
  errno = 0;
  const int returned = SSL_do_handshake(ssl_.get());
  if (returned == 1) return Step::kDone;
  const Step step = step_of(returned);
  const long verdict = SSL_get_verify_result(ssl_.get());
  if (step == Step::kBroken && verdict != X509_V_OK) {
    error_ = std::string{"its certificate is not trusted: "} +
             X509_verify_cert_error_string(verdict) + " (" + option_ +
             " names its certificate authority)";
  }
  return step;
}

TlsStream::Moved TlsStream::read(char* into, std::size_t size) {
  if (is_broken_) return {};
  ERR_clear_error();
  errno = 0;
  const int returned = SSL_read(ssl_.get(), into, length(size));
  if (returned > 0) return {Step::kDone, static_cast<std::size_t>(returned)};
  return {step_of(returned), 0};
}

TlsStream::Moved TlsStream::write(const char* from, std::size_t size) {
  if (is_broken_) return {};
  ERR_clear_error();
  errno = 0;
  const int returned = SSL_write(ssl_.get(), from, length(size));
  if (returned > 0) return {Step::kDone, static_cast<std::size_t>(returned)};
  return {step_of(returned), 0};
}

bool TlsStream::has_more() const { return SSL_pending(ssl_.get()) > 0; }

bool TlsStream::is_quiet() {
  if (is_broken_) return false;
  ERR_clear_error();
  errno = 0;
  char byte = 0;
  const int returned = SSL_peek(ssl_.get(), &byte, 1);
  return returned <= 0 && step_of(returned) == Step::kWantsRead;
}

void TlsStream::shut_down() {
  if (is_broken_ || SSL_is_init_finished(ssl_.get()) != 1) return;
  ERR_clear_error();
  (void)SSL_shutdown(ssl_.get());  // The socket is closed afterwards in any case.
  ERR_clear_error();
}

}  // namespace carillon::net
