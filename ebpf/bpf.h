/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The part of the kernel's interface that our programs use, declared here so that a build needs
 * clang and no headers of any kernel or library. All of it is stable user-space ABI
 * (linux/bpf.h, linux/if_ether.h, linux/ip.h, linux/ipv6.h, linux/udp.h).
 */
#ifndef DNSDYNO_BPF_H
#define DNSDYNO_BPF_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Programs run on the byte order of the host, packets are big-endian. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BE16(x) __builtin_bswap16(x)
#else
#define BE16(x) (x)
#endif

/* What an XDP program sees of a packet. */
struct xdp_md {
	u32 data;
	u32 data_end;
	u32 data_meta;
	u32 ingress_ifindex;
	u32 rx_queue_index;
	u32 egress_ifindex;
};

enum xdp_action { XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT };

/* The definition of a map, as loaders read it from the section "maps". */
struct bpf_map_def {
	u32 type;
	u32 key_size;
	u32 value_size;
	u32 max_entries;
	u32 map_flags;
};

/* User space may map the values of an array. */
#define BPF_F_MMAPABLE (1U << 10)

enum bpf_map_type { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_PERCPU_ARRAY = 6, BPF_MAP_TYPE_DEVMAP = 14, BPF_MAP_TYPE_XSKMAP = 17 };

/* Helpers are called by number. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_redirect_map)(void *map, u64 key, u64 flags) = (void *)51;
static long (*const bpf_xdp_adjust_meta)(struct xdp_md *packet, int by) = (void *)54;
static long (*const bpf_xdp_adjust_head)(struct xdp_md *packet, int delta) = (void *)44;
static long (*const bpf_xdp_adjust_tail)(struct xdp_md *packet, int delta) = (void *)65;
static long (*const bpf_xdp_store_bytes)(struct xdp_md *packet, u32 at, void *from, u32 length) = (void *)190;

#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86DD
#define ETH_P_8021Q 0x8100
#define IPPROTO_UDP 17
#define IPPROTO_FRAGMENT 44

struct ethernet {
	u8 destination[6];
	u8 source[6];
	u16 type;
} __attribute__((packed));

struct vlan_tag {
	u16 control;
	u16 type;
} __attribute__((packed));

struct ipv4 {
	u8 version_and_length;
	u8 service;
	u16 total_length;
	u16 id;
	u16 fragment;
	u8 ttl;
	u8 protocol;
	u16 checksum;
	u32 source;
	u32 destination;
} __attribute__((packed));

/* "More fragments", or an offset other than 0. */
#define IPV4_IS_FRAGMENT BE16(0x3FFF)

struct ipv6 {
	u32 version_class_flow;
	u16 payload_length;
	u8 next_header;
	u8 hop_limit;
	u32 source[4];
	u32 destination[4];
} __attribute__((packed));

struct udp {
	u16 source;
	u16 destination;
	u16 length;
	u16 checksum;
} __attribute__((packed));

/*
 * Skips the Ethernet header and one 802.1Q tag. Returns a pointer behind them, and the type of
 * what follows (in network order) in *type; 0 where the packet is too short.
 */
INLINE void *after_ethernet(void *data, void *end, u16 *type)
{
	struct ethernet *ethernet = data;

	if (data + sizeof(*ethernet) > end)
		return 0;
	*type = ethernet->type;
	data += sizeof(*ethernet);
	if (unlikely(*type == BE16(ETH_P_8021Q))) {
		struct vlan_tag *tag = data;

		if (data + sizeof(*tag) > end)
			return 0;
		*type = tag->type;
		data += sizeof(*tag);
	}
	return data;
}

#endif
