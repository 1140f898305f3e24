// Several words compared at once, and a hash, with what the architecture has for them: AVX2 and the CRC32
// of SSE 4.2 on x86-64; elsewhere loops that the compiler makes vectors of (NEON), and the CRC32
// extension of arm64. Both give the same results, so that what one test sees holds for both.
#ifndef UPFU_LANES_H
#define UPFU_LANES_H

#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#else
#error "upf-u is written for x86-64 and arm64: here the architecture's CRC32C would have to be added"
#endif

#define LANES 8u

#define LANES_INLINE static inline __attribute__((always_inline))

// CRC32C of one word more.
LANES_INLINE uint64_t
lanes_crc32c(uint64_t crc, uint64_t word)
{
#if defined(__x86_64__)
	return _mm_crc32_u64(crc, word);
#else
	return __crc32cd((uint32_t)crc, word);
#endif
}

#if defined(__x86_64__)

struct lanes {
	__m256i word;
};

LANES_INLINE struct lanes
lanes_none(void)
{
	return (struct lanes){_mm256_setzero_si256()};
}

// Adds the bits under the mask in which a lane's key is another than have. Both are aligned to 32 octets.
LANES_INLINE struct lanes
lanes_or_masked(struct lanes to, uint32_t have, const uint32_t *key, const uint32_t *mask)
{
	__m256i keys = _mm256_load_si256((const __m256i *)(const void *)key);
	__m256i masks = _mm256_load_si256((const __m256i *)(const void *)mask);
	__m256i differs = _mm256_xor_si256(_mm256_set1_epi32((int)have), keys);

	return (struct lanes){_mm256_or_si256(to.word, _mm256_and_si256(differs, masks))};
}

// Adds something where a half of have is below that of lo, or above that of hi.
LANES_INLINE struct lanes
lanes_or_outside(struct lanes to, uint32_t have, const uint32_t *lo, const uint32_t *hi)
{
	__m256i value = _mm256_set1_epi32((int)have);
	__m256i from = _mm256_load_si256((const __m256i *)(const void *)lo);
	__m256i upto = _mm256_load_si256((const __m256i *)(const void *)hi);

	// What is left of a saturating subtraction is how far it is out.
	to.word = _mm256_or_si256(to.word, _mm256_subs_epu16(from, value));
	return (struct lanes){_mm256_or_si256(to.word, _mm256_subs_epu16(value, upto))};
}

// Bit i is set when lane i is zero.
LANES_INLINE unsigned
lanes_zero(struct lanes l)
{
	__m256i zero = _mm256_cmpeq_epi32(l.word, _mm256_setzero_si256());

	return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(zero));
}

#else

struct lanes {
	uint32_t word[LANES];
};

LANES_INLINE struct lanes
lanes_none(void)
{
	return (struct lanes){{0}};
}

LANES_INLINE struct lanes
lanes_or_masked(struct lanes to, uint32_t have, const uint32_t *key, const uint32_t *mask)
{
	for (unsigned i = 0; i < LANES; i++)
		to.word[i] |= (have ^ key[i]) & mask[i];
	return to;
}

LANES_INLINE struct lanes
lanes_or_outside(struct lanes to, uint32_t have, const uint32_t *lo, const uint32_t *hi)
{
	uint16_t low = (uint16_t)have, high = (uint16_t)(have >> 16);

	for (unsigned i = 0; i < LANES; i++) {
		to.word[i] |= (uint16_t)lo[i] > low || (uint16_t)(lo[i] >> 16) > high ||
			low > (uint16_t)hi[i] || high > (uint16_t)(hi[i] >> 16);
	}
	return to;
}

LANES_INLINE unsigned
lanes_zero(struct lanes l)
{
	unsigned zero = 0;

	for (unsigned i = 0; i < LANES; i++)
		zero |= (unsigned)(l.word[i] == 0) << i;
	return zero;
}

#endif

// Each key is read whole, but the four at once are no atomic load to the thread sanitizer: it gets the loop,
// which is what the memory model has.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

// Bit i is set when key[i] is want. The keys are aligned to 32 octets; they are read before what the
// caller reads next (as every load is here).
LANES_INLINE unsigned
lanes_equal_4(const uint64_t *key, uint64_t want)
{
	__m256i keys = _mm256_load_si256((const __m256i *)(const void *)key);
	__m256i equal = _mm256_cmpeq_epi64(keys, _mm256_set1_epi64x((long long)want));

	return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(equal));
}

#else

LANES_INLINE unsigned
lanes_equal_4(const uint64_t *key, uint64_t want)
{
	unsigned equal = 0;

	for (unsigned i = 0; i < 4; i++) // acquire: read before what the caller reads next
		equal |= (unsigned)(__atomic_load_n(&key[i], __ATOMIC_ACQUIRE) == want) << i;
	return equal;
}

#endif
#endif
