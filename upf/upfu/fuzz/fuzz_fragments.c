// The table of fragments against a naive model: see test/fragments.h.
#include "fragments.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fragments_counts counts = {0};

	fragments_both_ways(data, size, &counts);
	return 0;
}
