/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The data of responder.bpf.c: the layout of its maps, which crates/sys mirrors, and the arithmetic
 * of names and checksums.
 */
#ifndef DNSDYNO_RESPONDER_H
#define DNSDYNO_RESPONDER_H

#include "bpf.h"

/* Packets are read in words of any alignment. */
typedef u16 __attribute__((may_alias)) word16;
typedef u32 __attribute__((may_alias)) word32;
typedef u64 __attribute__((may_alias)) word64;

#define WORD16(at) (*(word16 *)(at))
#define WORD32(at) (*(word32 *)(at))
#define WORD64(at) (*(word64 *)(at))

/* The last `n` bytes in memory of a word, with 0 behind them. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LAST_BYTES(word, n) ((word) >> (8 * (8 - (n))))
#else
#define LAST_BYTES(word, n) ((word) << (8 * (8 - (n))))
#endif

/* A function of its own. */
#define APART static __attribute__((noinline))

/* The compiler must not use what it knows about this value. */
#define HIDE(value) asm volatile("" : "+r"(value))

#define ADDRESSES_MAX 16
#define NAME_WORDS 32
#define LABELS_MAX 128
#define MAX_NAME 255
#define CHUNK_WORDS 8
#define CHUNK_SIZE (8 * CHUNK_WORDS)
#define NAME_CHUNKS (8 * NAME_WORDS / CHUNK_SIZE)
#define RECORD_CHUNKS 19
#define LONGEST_RECORDS (RECORD_CHUNKS * CHUNK_SIZE)
#define PROBES 8
#define ENCLOSERS 16            /* ancestors that are looked up below a wildcard's parent */
#define OPTIONS_MAX 16          /* of EDNS in a query */
#define OPTIONS_LENGTH_MAX 4096 /* of these together, in bytes: more than a packet of one buffer has */
#define LARGEST_GAP 255
#define LONGEST_HEAD 344        /* all headers, one tag and the longest question */

/* The addresses at which we answer. Addresses in network order, IPv4 in the first word. */
struct address {
	u32 ip[4];
	u16 port;       /* network order */
	u16 is_ipv6;
};

/* Records as they follow a question. */
struct records {
	u64 last;       /* their last 8 bytes */
	u32 at;         /* their first chunk */
	u16 length;     /* in bytes: 0, or at least 8 */
	u16 sum;        /* their Internet checksum, not inverted, as if they started at an even byte */
	u16 answers;    /* how many in the answer section, network order */
	u16 authorities;
	u8 rcode;
	u8 kind;
	u8 flags;
	u8 name_length;
};

enum { KIND_RECORDS, KIND_NEGATIVE, KIND_PASS };
enum { HAS_WILDCARD = 1 };

/* Mirrored by `Slot` in crates/sys. */
struct slot {
	u64 key;        /* 0: empty */
	u32 name_at;    /* the first chunk of the name */
	u32 unused;
	struct records records;
};

/* Set by the loader before the program is loaded; mirrored by `Settings` in crates/sys. */
struct settings {
	u64 seed;
	struct records negative;        /* the SOA of the zone; its owner is filled in */
	u32 slot_mask;
	u16 address_count;
	u16 apex_length;
	u16 any_name;                   /* every name is answered like the empty one */
	u16 has_wildcards;
	u16 edns_size;
	u16 mtu;
	struct address addresses[ADDRESSES_MAX];
};

volatile const struct settings SETTINGS = { .mtu = 1500 };

struct chunk {
	u64 words[CHUNK_WORDS];
};

struct bpf_map_def SEC("maps") SLOTS = {
	.type = BPF_MAP_TYPE_ARRAY,
	.key_size = sizeof(u32),
	.value_size = sizeof(struct slot),
	.max_entries = 1,
};

struct bpf_map_def SEC("maps") CHUNKS = {
	.type = BPF_MAP_TYPE_ARRAY,
	.key_size = sizeof(u32),
	.value_size = sizeof(struct chunk),
	.max_entries = 1,
};

/* What became of queries, each CPU by itself; mirrored by `Counts` in crates/sys. */
struct counts {
	u64 found;              /* answered: NOERROR, with answer records or with TC=1 */
	u64 nodata;             /* answered: NOERROR without an answer record */
	u64 nxdomain;           /* answered: NXDOMAIN, whatever aliases led to it */
	u64 truncated;          /* beside: answered with TC=1 */
	u64 passed_form;        /* passed up: more than a plain question */
	u64 passed_name;        /* passed up: a name or type that is not in the map */
	u64 passed_size;        /* passed up: the answer has no room in the map or in the packet */
};

/* What is known of a query. Volatile, so that the verifier meets what it has forgotten. */
struct query {
	volatile u64 hash;
	volatile u64 name_sum;  /* of the bytes of the name as they came */
	volatile u64 part_sum;  /* the same of an ancestor, not needed */
	volatile u16 length;    /* of the message, in bytes */
	volatile u16 size;      /* the longest answer that the client takes, in bytes */
	volatile u16 qtype;
	volatile u8 network_at; /* where the IP header stands in the frame */
	volatile u8 udp_at;     /* where the UDP header does */
	volatile u8 is_ipv6;
	volatile u8 has_opt;
	volatile u8 dnssec_ok;  /* as it goes into the answer's OPT: 0 or 0x80 */
	volatile u8 name_length;
	volatile u8 part_at;    /* where in it the name of an ancestor begins */
	volatile u8 part_length;
	u8 unused[2];
};

/* One a CPU: what is counted, and what is worked with. Mirrored by `Desk` in crates/sys. */
struct desk {
	struct counts counts;
	u64 words[NAME_WORDS];  /* the name last read, in lower case, filled up with 0 */
	struct query query;
	volatile struct records records; /* what was found */
};

struct bpf_map_def SEC("maps") DESK = {
	.type = BPF_MAP_TYPE_PERCPU_ARRAY,
	.key_size = sizeof(u32),
	.value_size = sizeof(struct desk),
	.max_entries = 1,
};

#define UDP_HEADER 8
#define DNS_HEADER 12
#define QUESTION_FIXED 4
#define OPT_LENGTH 11
#define OPTION_FIXED 4          /* its code and its length */
#define SMALLEST_SIZE 512
/* The counts of questions and answers as 32 bits: one question, no answer. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define COUNTS_OF_QUESTION 0x00000100
#else
#define COUNTS_OF_QUESTION 0x00010000
#endif
#define DNS_QR BE16(0x8000)
#define DNS_OPCODE BE16(0x7800)
#define DNS_AA BE16(0x0400)
#define DNS_TC BE16(0x0200)
#define DNS_COPIED BE16(0x0110) /* RD and CD */
#define NXDOMAIN 3
#define CLASS_IN 1
#define TYPE_OPT 41
#define TYPE_IXFR 251
#define TYPE_AXFR 252
#define TYPE_OTHER 0x20000      /* every type that has no slot of its own */
#define WILDCARD 0x10000        /* beside the type: of names that the wildcard below covers */

INLINE u32 fold(u64 sum)
{
	sum = (sum & 0xFFFFFFFF) + (sum >> 32);
	sum = (sum & 0xFFFFFFFF) + (sum >> 32);
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return (sum & 0xFFFF) + (sum >> 16);
}

/* The sum of bytes that begin on an odd one. */
INLINE u32 shifted(u32 sum)
{
	return (sum & 0xFF) << 8 | sum >> 8;
}

INLINE u64 in_lower_case(u64 word)
{
	u64 ones = 0x0101010101010101ULL;
	u64 low = word & 0x7F * ones;
	u64 from_a = low + (0x80 - 'A') * ones;
	u64 above_z = low + (0x7F - 'Z') * ones;

	/* Length octets are at most 63, below every letter. */
	return word | (~word & (from_a ^ above_z) & 0x80 * ones) >> 2;
}

INLINE u64 mixed(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
	return hash ^ hash >> 32;
}

/* The key of a name and a type; never 0. */
INLINE u64 key_of(u64 hash, u32 type)
{
	return mixed(hash, type) | 1;
}

/* The name of the question, as a new pointer. */
INLINE void *name_in(void *data, struct query *query)
{
	return data + query->udp_at + UDP_HEADER + DNS_HEADER;
}

#endif
