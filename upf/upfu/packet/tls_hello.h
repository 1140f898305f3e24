// The server's name in a TLS ClientHello (RFC 8446 4.1.2, RFC 6066 3), of which only the beginning may be there.
#ifndef UPFU_TLS_HELLO_H
#define UPFU_TLS_HELLO_H

#include <stddef.h>
#include <stdint.h>

#include "rules/domain_name.h"

// What is read of a ClientHello, its records' headers included. A longer one may have its name in front.
#define TLS_HELLO_MAX 4096u

enum tls_hello {
	TLS_HELLO_NOT,      // it is no ClientHello, or a malformed one
	TLS_HELLO_MORE,     // one so far, and the name may be in what is not here yet
	TLS_HELLO_NAMELESS, // a whole one without a name that can be read
	TLS_HELLO_NAME,
};

// A handshake message from its first octet on.
enum tls_hello tls_hello_read(const uint8_t *message, size_t n, struct domain_name *name);
// What a TCP connection's client sends, from its first octet on: records (RFC 8446 5.1), of which one ClientHello may take
// several.
enum tls_hello tls_hello_read_stream(const uint8_t *stream, size_t n, struct domain_name *name);

#endif
