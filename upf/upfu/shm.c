#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <rte_cycles.h>

#ifndef F_SEAL_FUTURE_WRITE // Linux 5.1; glibc's headers may be older
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static uint64_t
page_align(uint64_t size)
{
	return (size + 4095) & ~UINT64_C(4095);
}

int
shm_init(struct shm *shm, uint32_t workers, uint32_t slots, uint64_t tsc_hz)
{
	uint64_t workers_offset = page_align(sizeof(struct upf_shm));
	uint64_t pairs_offset =
		page_align(workers_offset + workers * sizeof(struct upf_worker_stats));
	uint64_t pairs = ((uint64_t)slots + UPF_LINE_SLOTS - 1) / UPF_LINE_SLOTS;
	uint64_t meters_offset = page_align(pairs_offset + pairs * sizeof(struct upf_slot_pair));
	uint64_t times_offset =
		page_align(meters_offset + pairs * UPF_LINE_SLOTS * sizeof(struct upf_urr_meter));
	uint64_t size =
		page_align(times_offset + pairs * UPF_LINE_SLOTS * sizeof(struct upf_urr_times));
	uint8_t *base = MAP_FAILED;

	memset(shm, 0, sizeof(*shm));
	shm->size = size;
	shm->fd = memfd_create("upf-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (shm->fd < 0 || ftruncate(shm->fd, (off_t)size) < 0)
		goto fail;
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, shm->fd, 0);
	if (base == MAP_FAILED)
		goto fail;
	if (fcntl(shm->fd, F_ADD_SEALS,
		    F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		goto fail;
	shm->head = (struct upf_shm *)(void *)base;
	shm->workers = (struct upf_worker_stats *)(void *)(base + workers_offset);
	shm->slots = (struct shm_slots){
		.pair = (struct upf_slot_pair *)(void *)(base + pairs_offset),
		.meter = (struct upf_urr_meter *)(void *)(base + meters_offset),
		.times = (struct upf_urr_times *)(void *)(base + times_offset),
		.tsc_0 = rte_rdtsc(),
		.ms_per_tsc = UINT64_MAX / (tsc_hz / 1000),
	};
	*shm->head = (struct upf_shm){
		.magic = UPF_ABI_MAGIC,
		.version = UPF_ABI_VERSION,
		.tsc_hz = tsc_hz,
		.workers_offset = workers_offset,
		.pairs_offset = pairs_offset,
		.meters_offset = meters_offset,
		.times_offset = times_offset,
		.tsc_0 = shm->slots.tsc_0,
		.workers = workers,
		.pairs = (uint32_t)pairs,
	};
	if (getrandom(&shm->head->boot_id, sizeof(shm->head->boot_id), 0) !=
		(ssize_t)sizeof(shm->head->boot_id))
		goto fail;
	return 0;
fail:
	if (base != MAP_FAILED)
		munmap(base, size);
	if (shm->fd >= 0)
		close(shm->fd);
	memset(shm, 0, sizeof(*shm));
	shm->fd = -1;
	return -1;
}

void
shm_free(struct shm *shm)
{
	if (shm->head == NULL)
		return;
	munmap(shm->head, shm->size);
	close(shm->fd);
	memset(shm, 0, sizeof(*shm));
	shm->fd = -1;
}
