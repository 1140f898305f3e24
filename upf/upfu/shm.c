#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE // Linux 5.1; glibc's headers may be older
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static uint64_t
page_align(uint64_t size)
{
	return (size + 4095) & ~UINT64_C(4095);
}

int
shm_init(struct shm *shm, uint32_t workers, uint32_t urr_slots, uint64_t tsc_hz)
{
	uint64_t workers_offset = page_align(sizeof(struct upf_shm));
	uint64_t urr_offset =
		page_align(workers_offset + workers * sizeof(struct upf_worker_stats));
	uint64_t size = page_align(urr_offset + (uint64_t)urr_slots * sizeof(struct upf_urr_slot));
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
	shm->urr = (struct upf_urr_slot *)(void *)(base + urr_offset);
	*shm->head = (struct upf_shm){
		.magic = UPF_ABI_MAGIC,
		.version = UPF_ABI_VERSION,
		.tsc_hz = tsc_hz,
		.workers_offset = workers_offset,
		.urr_offset = urr_offset,
		.workers = workers,
		.urr_slots = urr_slots,
	};
	if (getrandom(&shm->head->boot_id, sizeof(shm->head->boot_id), 0) !=
		(ssize_t)sizeof(shm->head->boot_id))
		goto fail;
	// fire_at 0 means unarmed (see urr.c), so that the pages of unused slots stay untouched.
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
