// The entry points of the thread sanitizer, as gcc calls them. This file is compiled without it.
#define _GNU_SOURCE
#include "lines.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64u
#define TABLE_BITS 22u
#define REGIONS_MAX 256u
#define NOBODY UINT32_MAX

struct line {
	uintptr_t at; // 0: free
	uint64_t writers;
	uint32_t last, moved;
};

struct region {
	const char *name;
	uintptr_t from, upto;
};

static struct line *table;
static struct region regions[REGIONS_MAX];
static unsigned regions_n;
static uint32_t current = NOBODY;
static uintptr_t stack_from, stack_upto;

static void
find_stack(void)
{
	pthread_attr_t attributes;
	void *at;
	size_t octets;

	if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
		pthread_attr_getstack(&attributes, &at, &octets) != 0)
		abort();
	pthread_attr_destroy(&attributes);
	stack_from = (uintptr_t)at;
	stack_upto = stack_from + octets;
}

void
lines_reset(void)
{
	if (table == NULL) {
		table = malloc(sizeof(*table) << TABLE_BITS);
		find_stack();
	}
	if (table == NULL)
		abort();
	memset(table, 0, sizeof(*table) << TABLE_BITS);
	regions_n = 0;
}

void
lines_region(const char *name, const void *at, size_t octets)
{
	if (regions_n == REGIONS_MAX)
		abort();
	regions[regions_n++] =
		(struct region){name, (uintptr_t)at / LINE * LINE, (uintptr_t)at + octets};
}

void
lines_begin(unsigned worker)
{
	current = worker;
}

void
lines_end(void)
{
	current = NOBODY;
}

static const char *
region_of(uintptr_t at)
{
	for (unsigned i = 0; i < regions_n; i++) {
		if (regions[i].from <= at && at < regions[i].upto)
			return regions[i].name;
	}
	return "elsewhere";
}

void
lines_each(void (*each)(void *context, const char *region, uint64_t shared, uint64_t moved),
	void *context)
{
	uint64_t shared[REGIONS_MAX + 1] = {0}, moved[REGIONS_MAX + 1] = {0};
	const char *name[REGIONS_MAX + 1];
	unsigned n = 0;

	for (size_t i = 0; i < (size_t)1 << TABLE_BITS; i++) {
		const char *of;
		unsigned k = 0;

		if (table[i].moved == 0)
			continue;
		of = region_of(table[i].at);
		while (k < n && strcmp(name[k], of) != 0)
			k++;
		if (k == n)
			name[n++] = of;
		shared[k]++;
		moved[k] += table[i].moved;
	}
	for (unsigned k = 0; k < n; k++)
		each(context, name[k], shared[k], moved[k]);
}

static void
write_line(uintptr_t at)
{
	size_t i = (size_t)((at / LINE * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - TABLE_BITS));

	while (table[i].at != 0 && table[i].at != at)
		i = (i + 1) & (((size_t)1 << TABLE_BITS) - 1);
	if (table[i].at == 0)
		table[i] = (struct line){.at = at, .last = current};
	table[i].moved += table[i].last != current;
	table[i].last = current;
	table[i].writers |= UINT64_C(1) << current;
}

static void
written(const volatile void *address, size_t octets)
{
	uintptr_t from = (uintptr_t)address / LINE * LINE;

	if (current == NOBODY ||
		((uintptr_t)address >= stack_from && (uintptr_t)address < stack_upto))
		return;
	for (uintptr_t at = from; at < (uintptr_t)address + octets; at += LINE)
		write_line(at);
}

// ---- what the compiler calls -------------------------------------------------------------------

void __tsan_init(void);
void
__tsan_init(void)
{
}

void __tsan_func_entry(void *call);
void
__tsan_func_entry(void *call)
{
	(void)call;
}

void __tsan_func_exit(void);
void
__tsan_func_exit(void)
{
}

#define PLAIN(name, octets) \
	void __tsan_read##name(const void *at); \
	void __tsan_read##name(const void *at) \
	{ \
		(void)at; \
	} \
	void __tsan_write##name(void *at); \
	void __tsan_write##name(void *at) \
	{ \
		written(at, octets); \
	} \
	void __tsan_unaligned_read##name(const void *at); \
	void __tsan_unaligned_read##name(const void *at) \
	{ \
		(void)at; \
	} \
	void __tsan_unaligned_write##name(void *at); \
	void __tsan_unaligned_write##name(void *at) \
	{ \
		written(at, octets); \
	}

PLAIN(1, 1)
PLAIN(2, 2)
PLAIN(4, 4)
PLAIN(8, 8)
PLAIN(16, 16)

void __tsan_read_range(const void *at, size_t octets);
void
__tsan_read_range(const void *at, size_t octets)
{
	(void)at;
	(void)octets;
}

void __tsan_write_range(void *at, size_t octets);
void
__tsan_write_range(void *at, size_t octets)
{
	written(at, octets);
}

// These do what they stand for, too; one thread is all there is.
#define EXCHANGE(bits, name, operation) \
	uint##bits##_t __tsan_atomic##bits##_##name( \
		volatile uint##bits##_t *at, uint##bits##_t value, int order); \
	uint##bits##_t __tsan_atomic##bits##_##name( \
		volatile uint##bits##_t *at, uint##bits##_t value, int order) \
	{ \
		(void)order; \
		written(at, sizeof(*at)); \
		return operation(at, value, __ATOMIC_SEQ_CST); \
	}

#define COMPARE(bits, name) \
	int __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t *expected, \
		uint##bits##_t value, int order, int failure); \
	int __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t *expected, \
		uint##bits##_t value, int order, int failure) \
	{ \
		(void)order; \
		(void)failure; \
		written(at, sizeof(*at)); \
		return __atomic_compare_exchange_n( \
			at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	}

#define ATOMIC(bits) \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order); \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order) \
	{ \
		(void)order; \
		return __atomic_load_n(at, __ATOMIC_SEQ_CST); \
	} \
	void __tsan_atomic##bits##_store( \
		volatile uint##bits##_t *at, uint##bits##_t value, int order); \
	void __tsan_atomic##bits##_store( \
		volatile uint##bits##_t *at, uint##bits##_t value, int order) \
	{ \
		(void)order; \
		written(at, sizeof(*at)); \
		__atomic_store_n(at, value, __ATOMIC_SEQ_CST); \
	} \
	EXCHANGE(bits, exchange, __atomic_exchange_n) \
	EXCHANGE(bits, fetch_add, __atomic_fetch_add) \
	EXCHANGE(bits, fetch_sub, __atomic_fetch_sub) \
	EXCHANGE(bits, fetch_and, __atomic_fetch_and) \
	EXCHANGE(bits, fetch_or, __atomic_fetch_or) \
	EXCHANGE(bits, fetch_xor, __atomic_fetch_xor) \
	COMPARE(bits, compare_exchange_strong) \
	COMPARE(bits, compare_exchange_weak)

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order);
void
__tsan_atomic_thread_fence(int order)
{
	(void)order;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order);
void
__tsan_atomic_signal_fence(int order)
{
	(void)order;
}
