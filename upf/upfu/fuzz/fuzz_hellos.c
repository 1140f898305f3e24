// What is read of ClientHellos, of QUIC's Initial packets and of DNS messages. The first octet says as what the rest is read.
#include <stdlib.h>
#include <string.h>

#include "hellos.h"
#include "packet/dns_message.h"
#include "packet/quic_initial.h"
#include "packet/tls_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// So that what is told of a piece is read.
static void
look(void *context, uint64_t offset, const uint8_t *octets, size_t n)
{
	uint64_t *sum = context;

	*sum += offset;
	for (size_t i = 0; i < n; i++)
		*sum += octets[i];
}

static void
read_dns(const uint8_t *data, size_t n)
{
	struct dns_address address[DNS_ADDRESSES];
	struct dns_message m;

	if (dns_message_read(&m, data, n) && m.answers &&
		dns_message_addresses(&m, address) > DNS_ADDRESSES)
		abort();
}

// As a client's packet with these frames, damaged where an octet says.
static void
read_quic(struct quic_crypto *crypto, const uint8_t *data, size_t n)
{
	struct octets frames = {.n = n < 1000 ? n : 1000}, datagram;
	uint64_t sum = 0;

	memcpy(frames.at, data, frames.n);
	hello_quic(&datagram, 1 + (n & 1), (uint32_t)n, &frames, 1200);
	if (quic_initial_read(crypto, datagram.at, datagram.n, look, &sum) == QUIC_INITIAL_NOT)
		abort();
	for (size_t i = 0; i + 2 < n && i < 4; i += 2)
		datagram.at[data[i] % 64] ^= data[i + 1];
	quic_initial_read(crypto, datagram.at, datagram.n, look, &sum);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct quic_crypto *crypto;
	struct domain_name name;
	uint64_t sum = 0;

	if (crypto == NULL)
		crypto = quic_crypto_create();
	if (crypto == NULL || size == 0)
		return 0;
	switch (data[0] % 6) {
	case 0:
		tls_hello_read(data + 1, size - 1, &name);
		break;
	case 1:
		tls_hello_read_stream(data + 1, size - 1, &name);
		break;
	case 2:
		read_dns(data + 1, size - 1);
		break;
	case 3:
		quic_initial_read(crypto, data + 1, size - 1, look, &sum);
		break;
	case 4:
		quic_frames_read(data + 1, size - 1, look, &sum);
		break;
	default:
		read_quic(crypto, data + 1, size - 1);
	}
	return 0;
}
