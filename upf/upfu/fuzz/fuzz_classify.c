// The matcher against a naive one: see test/classify.h.
#include "classify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct classify_counts counts = {0};

	classify_both_ways(data, size, &counts);
	return 0;
}
