#define _GNU_SOURCE
#include "process/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "process/config.h"

#ifndef F_SEAL_FUTURE_WRITE // Linux 5.1; glibc's headers may be older
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MADV_POPULATE_WRITE // Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

#define HUGEPAGE (UINT64_C(2) << 20)
#define HUGEPAGES_WAIT_MS 2000u

struct plan {                                                                      // of the segment
	uint64_t workers, groups, topology, links, gateways, pairs, meters, times; // offsets
	uint64_t size;
	uint64_t n_pairs;
};

static uint64_t
align(uint64_t size, uint64_t page)
{
	return (size + page - 1) & ~(page - 1);
}

static struct plan
plan_of(const struct config *config)
{
	const struct config_limits *limits = &config->limits;
	uint64_t slots =
		limits->qer_slots > limits->urr_slots ? limits->qer_slots : limits->urr_slots;
	struct plan p = {.n_pairs = (slots + UPF_LINE_SLOTS - 1) / UPF_LINE_SLOTS};

	slots = p.n_pairs * UPF_LINE_SLOTS;
	p.workers = align(sizeof(struct upf_shm), 4096);
	p.groups = align(p.workers + config->workers * sizeof(struct upf_worker_stats), 64);
	p.topology = align(
		p.groups + (uint64_t)config->workers * UPF_GROUPS * sizeof(struct upf_drop_stats),
		64);
	p.links = align(p.topology + sizeof(struct upf_topology), 64);
	p.gateways = align(p.links + UPF_PORTS * sizeof(struct upf_link_state), 64);
	p.pairs = align(
		p.gateways + sizeof(struct upf_gateway_state) * UPF_PORTS * UPF_GATEWAYS, 4096);
	p.meters = align(p.pairs + p.n_pairs * sizeof(struct upf_slot_pair), 4096);
	p.times = align(p.meters + slots * sizeof(struct upf_urr_meter), 4096);
	p.size = align(p.times + slots * sizeof(struct upf_urr_times), 4096);
	return p;
}

uint32_t
shm_hugepage_mib(const struct config *config)
{
	uint64_t mib = align(plan_of(config).size, HUGEPAGE) >> 20;

	// The rules and packets need the most of it.
	return config->hugepages && mib <= config->memory_mib / 3 ? (uint32_t)mib : 0;
}

// Maps a sealed segment; NULL: it cannot be had with these flags.
static uint8_t *
map_segment(int *fd, uint64_t size, unsigned flags)
{
	uint8_t *base = MAP_FAILED;

	*fd = memfd_create("upf-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
	if (*fd < 0)
		return NULL;
	if (ftruncate(*fd, (off_t)size) == 0)
		base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	// A hugetlb cgroup that allows less would kill at the first touch of a page: touch all now.
	if (base != MAP_FAILED &&
		((flags & MFD_HUGETLB) == 0 || madvise(base, size, MADV_POPULATE_WRITE) == 0) &&
		fcntl(*fd, F_ADD_SEALS,
			F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return base;
	if (base != MAP_FAILED)
		munmap(base, size);
	close(*fd);
	*fd = -1;
	return NULL;
}

// A upf-u that was killed is still mapped by upf-c for a moment, which copies its counters (Detach in
// dataplane/detach.go), and the pages of a cgroup's limit are only there once.
static uint8_t *
map_hugepages(int *fd, uint64_t size)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	uint8_t *base = map_segment(fd, size, MFD_HUGETLB);

	for (unsigned i = 0; base == NULL && i < HUGEPAGES_WAIT_MS / 20; i++) {
		nanosleep(&pause, NULL);
		base = map_segment(fd, size, MFD_HUGETLB);
	}
	return base;
}

int
shm_init(struct shm *shm, const struct config *config, uint64_t tsc_hz)
{
	struct plan p = plan_of(config);
	uint8_t *base = NULL;

	memset(shm, 0, sizeof(*shm));
	if (shm_hugepage_mib(config) != 0) {
		shm->size = align(p.size, HUGEPAGE);
		base = map_hugepages(&shm->fd, shm->size);
		shm->hugepages = base != NULL;
	}
	if (base == NULL) {
		shm->size = p.size;
		base = map_segment(&shm->fd, shm->size, 0);
	}
	if (base == NULL)
		return -1;
	shm->head = (struct upf_shm *)(void *)base;
	shm->workers = (struct upf_worker_stats *)(void *)(base + p.workers);
	shm->groups = (struct upf_drop_stats *)(void *)(base + p.groups);
	shm->links = (struct upf_link_state *)(void *)(base + p.links);
	shm->gateways = (void *)(base + p.gateways);
	shm->topology = (struct upf_topology *)(void *)(base + p.topology);
	shm->slots = (struct shm_slots){
		.pair = (struct upf_slot_pair *)(void *)(base + p.pairs),
		.meter = (struct upf_urr_meter *)(void *)(base + p.meters),
		.times = (struct upf_urr_times *)(void *)(base + p.times),
		.tsc_0 = rte_rdtsc(),
		.ms_per_tsc = UINT64_MAX / (tsc_hz / 1000),
		.pairs_used = &shm->pairs_used,
	};
	*shm->head = (struct upf_shm){
		.magic = UPF_ABI_MAGIC,
		.version = UPF_ABI_VERSION,
		.tsc_hz = tsc_hz,
		.workers_offset = p.workers,
		.pairs_offset = p.pairs,
		.meters_offset = p.meters,
		.times_offset = p.times,
		.topology_offset = p.topology,
		.groups_offset = p.groups,
		.links_offset = p.links,
		.gateways_offset = p.gateways,
		.tsc_0 = shm->slots.tsc_0,
		.workers = config->workers,
		.pairs = (uint32_t)p.n_pairs,
	};
	if (getrandom(&shm->head->boot_id, sizeof(shm->head->boot_id), 0) !=
		(ssize_t)sizeof(shm->head->boot_id)) {
		shm_free(shm);
		return -1;
	}
	return 0;
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
