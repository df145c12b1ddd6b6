/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Sends frames that user space has laid out, on behalf of BPF_PROG_TEST_RUN with live frames: the kernel makes an empty
 * frame, runs the program on it, and gives what the program redirects to the driver, 64 frames at a time. No
 * packet buffer is allocated, and the stack is not passed.
 *
 *   user space   ring: [ next | count | where each frame is | the frames ]     one ring a worker
 *   the kernel   for each of `count` frames: the program copies number `next`, and counts on
 *
 * Frames of such a call seem to come from the loopback interface, which no received packet does. The kernel uses a
 * frame again once it has been sent, with what receivers on this host have left in it; only its length is as new. So
 * the length says which ring it is for: its remainder by RINGS_MOST.
 */
#ifndef DNSDYNO_INJECT_H
#define DNSDYNO_INJECT_H

#include "bpf.h"

/* The index of the loopback interface, in each network namespace. */
#define LOOPBACK 1

#define RINGS_MOST 64
#define RING_FRAMES 1024
#define RING_BYTES (128 * 1024)
#define RING_LONGEST 2047

/* Mirrored by `Ring` in crates/sys. Its size is a multiple of the page size. */
struct frame_place {
	u32 at;
	u32 length;
};

struct frame_ring {
	u32 next;
	u32 count;
	u32 unused[1022];
	struct frame_place places[RING_FRAMES];
	u8 bytes[RING_BYTES + RING_LONGEST + 1];
	u8 rest[2048];
};

/* Set by the loader; 0 where nothing is injected: the kernel then removes this part, which may call what it lacks. */
volatile const u32 INJECTS = 0;

/* The interface, whatever network namespace the caller is in. */
struct bpf_map_def SEC("maps") DEVICE = {
	.type = BPF_MAP_TYPE_DEVMAP,
	.key_size = sizeof(u32),
	.value_size = sizeof(u32),
	.max_entries = 1,
};

struct bpf_map_def SEC("maps") RINGS = {
	.type = BPF_MAP_TYPE_ARRAY,
	.key_size = sizeof(u32),
	.value_size = sizeof(struct frame_ring),
	.max_entries = 1,
	.map_flags = BPF_F_MMAPABLE,
};

INLINE int is_injected(struct xdp_md *packet)
{
	return INJECTS && packet->ingress_ifindex == LOOPBACK;
}

INLINE int inject(struct xdp_md *packet)
{
	u32 before = packet->data_end - packet->data;
	u32 number = before % RINGS_MOST;
	struct frame_ring *ring = bpf_map_lookup_elem(&RINGS, &number);

	if (!ring)
		return XDP_DROP;
	u32 next = ring->next;

	if (next >= ring->count || next >= RING_FRAMES)
		return XDP_DROP;
	struct frame_place *place = &ring->places[next];
	u32 length = place->length;

	if (length == 0 || length > RING_LONGEST)
		return XDP_DROP;
	if (length != before && bpf_xdp_adjust_tail(packet, (int)(length - before)))
		return XDP_DROP;
	if (bpf_xdp_store_bytes(packet, 0, &ring->bytes[place->at & (RING_BYTES - 1)], length))
		return XDP_DROP;
	ring->next = next + 1;
	return bpf_redirect_map(&DEVICE, 0, 0);
}

#endif
