/* elasticrec.h: recommendations on a device, from one .elastic stream. SPDX: Apache-2.0
 *
 * One C99 header that needs memcpy and memset, and nothing else: no allocation, no global state, no
 * libm, no files. Include it, and in one source file before that #define ELASTICREC_IMPLEMENTATION.
 * Numbers in brackets name the sections of docs/stream-format.md.
 *
 * The stream's bytes stay where they are (a mapped file, flash, RAM) and must stay unchanged while
 * the stream is in use. Beside them a stream takes 4 bytes per item and 4 per chunk, a question the
 * work memory that elasticrec_question_bytes tells. Threads may ask one stream, each with its own
 * work memory; elasticrec_refresh and elasticrec_withdraw change it, and need it alone. Of a stream
 * larger than 4 GB the first 4 GB are used: a prefix of a stream is a stream.
 */
#ifndef ELASTICREC_H
#define ELASTICREC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return. */
enum {
  ELASTICREC_OK,      /* all went well */
  ELASTICREC_REFUSED, /* bytes that break a rule of the format; the error says which */
  ELASTICREC_MEMORY,  /* too little memory was given; the error says how much is needed */
  ELASTICREC_UNKNOWN  /* no such item */
};

#define ELASTICREC_NONE 0xFFFFFFFFu /* no item */

/* What was found, and what was expected: low to high. elasticrec_explain writes it out. */
typedef struct {
  const char *what;
  uint64_t found, low, high;
  uint32_t chunk; /* the chunk's number, or ELASTICREC_NONE */
} elasticrec_error;

typedef struct {
  const void *data;
  size_t size;
} elasticrec_bytes;

/* How to verify a publisher's signature and the chain of chunks [12]. */
typedef struct {
  void *context; /* handed to both functions */
  /* Writes the SHA-256 of some bytes. */
  void (*sha256)(void *context, const void *data, size_t size, uint8_t digest[32]);
  /* 1 if the Ed25519 signature of the parts, one after the other, is right; else 0. */
  int (*verify)(void *context, const uint8_t signature[64], const elasticrec_bytes *parts,
                size_t n_parts);
} elasticrec_key;

/* An id: a number, or text of so many bytes where the stream's id kind is 3. */
typedef struct {
  const char *text;
  uint64_t number; /* with text, its bytes */
} elasticrec_id;

/* Bytes of memory, aligned to 8, that a stream needs for itself and while it is read. */
typedef struct {
  size_t stream, work;
} elasticrec_sizes;

typedef struct {
  uint64_t sequence, trained, least, length; /* [1] */
  uint64_t bytes;                            /* that the stream ranks with */
  uint32_t items, blocks, listable, chunks, columns;
  uint8_t id_kind, cosine, for_vector, min_support; /* [1] */
  const uint8_t *model_id, *catalogue;              /* 32 bytes each */
} elasticrec_about;

/* A question; all zeros but k is a sound one: the list for most people. */
typedef struct {
  const elasticrec_id *history; /* the oldest first */
  size_t n_history;
  const elasticrec_id *exclude;
  size_t n_exclude;
  const elasticrec_id *only; /* NULL: every item may be listed */
  size_t n_only;
  const void *vector; /* the person's file from a server [9], or NULL */
  size_t vector_bytes;
  double diversity; /* from 0 to 1: prefers items that differ from those above them */
  uint32_t k;       /* how many items to list, at most */
  int repeat;       /* list items of the history too */
  int why;          /* name, for each item, the history item that votes most for it */
} elasticrec_question;

/* A listed item, by number; elasticrec_id_of gives its id. */
typedef struct {
  int64_t score;
  uint32_t item;
  uint32_t why;  /* a history item's number, or ELASTICREC_NONE */
  uint32_t slot; /* the slot that names it */
} elasticrec_item;

typedef struct {
  uint32_t listed;  /* how many items */
  uint32_t unknown; /* ids of the history that the stream does not know; they were skipped */
} elasticrec_answer;

/* A stream; its fields are for the functions below. */
typedef struct {
  const uint8_t *data;
  uint64_t sequence, trained, least, length;
  double unit, recency, weights[2];
  uint32_t n_items, n_blocks, end, n_ids;
  uint32_t n_chunks, max_chunks, n_books, n_columns, used, n_sorted, most;
  uint32_t starts[5]; /* where CODEBOOK, COLUMNS, IDS and the others start in the sorted index */
  uint32_t words;     /* codewords that the last codebook has */
  uint32_t cover[64], widths;
  uint16_t values[16];
  uint8_t width[64], popularity[28];
  uint8_t id_kind, cosine, for_vector, min_support, full, rest, useful, simd;
  uint8_t link[12];
  elasticrec_key key;
  uint16_t *state;  /* of each item: columns, 15 less its last vote << 11, withdrawn << 15 */
  uint8_t *slots;   /* of each item: slots, and 128 while its gain is not known */
  uint8_t *gain;    /* of each item: g [7.3] */
  uint32_t *chunks; /* where each chunk starts, sorted */
} elasticrec_stream;

/* Tells the memory for a stream of which these bytes have arrived, and at most `most` ever will. */
int elasticrec_size(const void *data, size_t size, size_t most, elasticrec_sizes *sizes,
                    elasticrec_error *error);

/* Opens a stream, or a prefix of one, and checks every rule of the format. `key` may be NULL; a
 * stream whose sequence number is below min_sequence is refused. `work` is free again afterwards.
 */
int elasticrec_open(elasticrec_stream *stream, const void *data, size_t size,
                    const elasticrec_key *key, uint64_t min_sequence, void *memory,
                    size_t memory_bytes, void *work, size_t work_bytes, elasticrec_error *error);

/* Takes in what has arrived: all bytes from the first on, the earlier ones unchanged, here or at
 * another place. After a chunk that breaks a rule the stream ranks with all that came before. */
int elasticrec_refresh(elasticrec_stream *stream, const void *data, size_t size, void *work,
                       size_t work_bytes, elasticrec_error *error);

/* Never lists the items of a withdrawn file [10]; the next file replaces it. */
int elasticrec_withdraw(elasticrec_stream *stream, const void *data, size_t size,
                        elasticrec_error *error);

void elasticrec_info(const elasticrec_stream *stream, elasticrec_about *about);

/* Bytes of work memory, aligned to 8, for a question. */
size_t elasticrec_question_bytes(const elasticrec_stream *stream,
                                 const elasticrec_question *question);

/* Writes the best items for a person, the best first, to items[0 .. k-1]. */
int elasticrec_recommend(const elasticrec_stream *stream, const elasticrec_question *question,
                         void *work, size_t work_bytes, elasticrec_item *items,
                         elasticrec_answer *answer, elasticrec_error *error);

/* Writes the k items nearest to one; ELASTICREC_UNKNOWN if the stream does not know it. The work
 * memory is that of a question with a history of one id. */
int elasticrec_similar(const elasticrec_stream *stream, elasticrec_id id, uint32_t k, void *work,
                       size_t work_bytes, elasticrec_item *items, elasticrec_answer *answer,
                       elasticrec_error *error);

/* The id of an item; text points into the stream. ELASTICREC_UNKNOWN if it has none yet. */
int elasticrec_id_of(const elasticrec_stream *stream, uint32_t item, elasticrec_id *id);

/* The item of an id. Refuses an id that the stream has twice. */
int elasticrec_find(const elasticrec_stream *stream, elasticrec_id id, uint32_t *item,
                    elasticrec_error *error);

/* Writes an error as one line, cut to `size` with its 0, and returns its whole length. */
size_t elasticrec_explain(const elasticrec_error *error, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif

#if defined(ELASTICREC_IMPLEMENTATION) && !defined(ELASTICREC_IMPLEMENTED)
#define ELASTICREC_IMPLEMENTED

#if defined(__FAST_MATH__) || (defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 2)
#error "elasticrec.h rounds each double once: no -ffast-math; on x86 -msse2 -mfpmath=sse"
#endif

#if defined(__STDC_HOSTED__) && __STDC_HOSTED__
#include <string.h>
#else
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
#endif

typedef const elasticrec_stream er_stream;
typedef const elasticrec_question er_question;
typedef elasticrec_item er_item;
typedef elasticrec_error er_error;

#define ER_TILE 1024u   /* items scored at a time */
#define ER_FILTER 4096u /* bytes of a filter of ids */
#define ER_HEAD(N) (276u + 8u * (N))
static const uint8_t er_zeros[64] = {0};

/* ---- Bytes ---- */
static inline uint32_t er_16(const uint8_t *p) { return (uint32_t)(p[0] | p[1] << 8); }
static inline uint32_t er_32(const uint8_t *p) { return er_16(p) | er_16(p + 2) << 16; }
static inline uint64_t er_64(const uint8_t *p) { return er_32(p) | (uint64_t)er_32(p + 4) << 32; }
static inline int er_bit(const uint8_t *bits, uint32_t i) { return bits[i >> 3] >> (i & 7) & 1; }
static void er_set(uint8_t *bits, uint32_t i) { bits[i >> 3] |= (uint8_t)(1u << (i & 7)); }
static int er_same(const void *a, const void *b, size_t n) {
  const uint8_t *x = (const uint8_t *)a, *y = (const uint8_t *)b;
  while (n && *x == *y) x++, y++, n--;
  return n == 0;
}
static int er_refuse(er_error *e, const char *what, uint64_t found, uint64_t low, uint64_t high) {
  er_error refused = {what, found, low, high, ELASTICREC_NONE};
  if (e) *e = refused;
  return ELASTICREC_REFUSED;
}

#define ER_TRY(call) \
  do { int er_verdict = (call); if (er_verdict != ELASTICREC_OK) return er_verdict; } while (0)
#define ER_ENOUGH(what, found, needed) \
  if ((found) < (needed)) return er_refuse(error, what, found, needed, SIZE_MAX), ELASTICREC_MEMORY
#define ER_IS(what, found, expected) ER_WITHIN(what, found, expected, expected)
#define ER_WITHIN(what, found, low, high)                          \
  do {                                                             \
    uint64_t er_found = (found), er_low = (low), er_high = (high); \
    if (er_found < er_low || er_found > er_high)                   \
      return er_refuse(error, what, er_found, er_low, er_high);    \
  } while (0)

/* The tables of a CRC-32 over eight bytes at a time; the first one alone takes single bytes. */
static void er_crc_tables(uint32_t *tables) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1)));
    tables[i] = crc;
  }
  for (uint32_t i = 256; i < 2048; i++)
    tables[i] = tables[i - 256] >> 8 ^ tables[tables[i - 256] & 255];
}
/* CRC-32 of some more bytes; without tables by halves of bytes, which is slower. */
static uint32_t er_crc(uint32_t crc, const uint8_t *p, size_t n, const uint32_t *t) {
  static const uint32_t half[16] = {0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC,
                                    0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
                                    0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
                                    0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C};
  crc = ~crc;
  for (; t && n >= 8; p += 8, n -= 8) {
    uint32_t a = crc ^ er_32(p), b = er_32(p + 4);
    crc = t[1792 + (a & 255)] ^ t[1536 + (a >> 8 & 255)] ^ t[1280 + (a >> 16 & 255)] ^
          t[1024 + (a >> 24)] ^ t[768 + (b & 255)] ^ t[512 + (b >> 8 & 255)] ^
          t[256 + (b >> 16 & 255)] ^ t[b >> 24];
  }
  for (; n; p++, n--)
    crc = crc >> 4 ^ half[(crc ^ *p) & 15], crc = crc >> 4 ^ half[(crc ^ (uint32_t)(*p >> 4)) & 15];
  return ~crc;
}

/* ---- Numbers: f64, each operation rounded once [6] ---- */
/* A product that no compiler fuses with the sum after it. */
static double er_times(double a, double b) {
  volatile double product = a * b;
  return product;
}
/* The floor of a number that is 2^62 in size at most. */
static int64_t er_floor(double x) { return (int64_t)x - ((double)(int64_t)x > x); }

/* The square root of a whole number up to 2^53, rounded to the nearest f64. */
static double er_root(uint64_t n) {
  uint64_t r, m = n;
  int64_t left;
  double x, y;
  int shift = 0;
  if (n == 0) return 0;
  /* m = n * 4^shift in [2^60, 2^62): its root times 2^22 has 53 digits, the half of one more. */
  while (m < (uint64_t)1 << 60) m <<= 2, shift++;
  /* y, 1 / the root of x = m / 2^62 in [1/4, 1), by Newton's steps from a line through [1, 2] */
  x = (double)m / 4611686018427387904.0;
  y = 2.2 - 1.25 * x;
  for (int i = 0; i < 5; i++) y = y * (1.5 - 0.5 * x * y * y);
  /* r: nearly the root of M = m * 2^44, and M - r * r by its last 64 digits, which are enough. */
  r = (uint64_t)(x * y * 9007199254740992.0);
  left = (int64_t)((m << 44) - r * r);
  while (left < 0) left += (int64_t)(2 * r - 1), r--;
  while (left > (int64_t)(2 * r)) left -= (int64_t)(2 * r + 1), r++;
  if (left > (int64_t)r) r++; /* above r + 1/2, which no root is */
  x = (double)r / 4194304.0;
  for (; shift; shift--) x *= 0.5;
  return x;
}
/* An f32 that is finite, not negative, and 10^9 at most; else -1. */
static double er_real(const uint8_t *p) {
  uint32_t bits = er_32(p);
  float value;
  memcpy(&value, &bits, 4);
  if (bits == 0x80000000u) return 0;
  return bits <= 0x4E6E6B28u ? (double)value : -1; /* 10^9, as bits */
}
/* An f16 that is finite, as f64. */
static double er_half(uint32_t bits) {
  uint32_t exponent = bits >> 10 & 31, more = exponent ? 1024 : 0;
  uint64_t whole = (uint64_t)(more + (bits & 1023)) << (exponent ? exponent - 1 : 0);
  return (double)whole / (bits >> 15 ? -16777216.0 : 16777216.0);
}
/* Binary digits of a number. */
static uint32_t er_digits(uint32_t n) {
  uint32_t digits = 0;
  for (; n; n >>= 1) digits++;
  return digits;
}

/* ---- Chunks ---- */
typedef int (*er_order)(const void *context, uint32_t a, uint32_t b);
static void er_sink(uint32_t *heap, size_t n, size_t i, er_order before, const void *context) {
  uint32_t moved = heap[i];
  size_t child;
  for (; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && before(context, heap[child], heap[child + 1])) child++;
    if (!before(context, moved, heap[child])) break;
    heap[i] = heap[child];
  }
  heap[i] = moved;
}
/* Sorts by a heap, so no input is slow. */
static void er_sort(uint32_t *all, size_t n, er_order before, const void *context) {
  for (size_t i = n / 2; i-- > 0;) er_sink(all, n, i, before, context);
  for (size_t last = n; last-- > 1;) {
    uint32_t top = all[0];
    all[0] = all[last], all[last] = top;
    er_sink(all, last, 0, before, context);
  }
}
typedef struct {
  uint32_t length, first, count, which, at; /* at: where the payload starts */
  uint32_t kind, width;
} er_chunk;
static er_chunk er_chunk_at(const uint8_t *data, uint32_t offset) {
  const uint8_t *p = data + offset;
  er_chunk c = {er_32(p), er_32(p + 8), er_32(p + 12), er_16(p + 6), offset + 32, p[4], p[5]};
  return c;
}
/* Chunks of CODEBOOK come first, then COLUMNS, IDS, and those of items by their first item. */
static uint64_t er_key(const uint8_t *data, uint32_t offset) {
  const uint8_t *p = data + offset;
  uint32_t kind = p[4];
  if (kind == 3 || kind == 4) return (uint64_t)3 << 32 | er_32(p + 8);
  return (uint64_t)(kind == 5 ? 2 : kind - 1) << 32;
}
static int er_chunk_before(const void *data, uint32_t a, uint32_t b) {
  uint64_t x = er_key((const uint8_t *)data, a), y = er_key((const uint8_t *)data, b);
  return x < y || (x == y && a < b);
}
static void er_sort_chunks(elasticrec_stream *s) {
  uint32_t n = s->n_chunks, *index = s->chunks, kinds[5] = {0, 0, 0, 0, 0};
  er_sort(index, n, er_chunk_before, s->data);
  for (uint32_t i = 0; i < n; i++) kinds[er_key(s->data, index[i]) >> 32]++;
  for (uint32_t i = 0, start = 0; i < 5; start += kinds[i++]) s->starts[i] = start;
  s->n_sorted = n;
}
/* A neighbour's number and vote of item i of a chunk [4]. */
static uint32_t er_neighbour(er_stream *s, const er_chunk *c, uint32_t i, uint32_t *vote) {
  const uint8_t *p = s->data + c->at;
  uint32_t n = c->count, number = 0, row = (n + 7) / 8;
  for (uint32_t f = 0; f < s->full; f++, p += n) number |= (uint32_t)p[i] << 8 * f;
  for (uint32_t r = 0; r < s->rest; r++, p += row)
    number |= (uint32_t)(p[i / 8] >> (i & 7) & 1) << (8u * s->full + r);
  *vote = p[i / 2] >> 4 * (i & 1) & 15u;
  return number;
}

/* ---- SIMD: 16 table entries are one register, and a byte shuffle looks them up ---- */
#if defined(ELASTICREC_PLAIN)
#elif defined(__SSE2__) && (defined(__GNUC__) || defined(__clang__))
#define ER_SIMD 1
#include <cpuid.h>
#include <tmmintrin.h>
#define ER_FOR_16 __attribute__((target("ssse3")))
typedef __m128i er_16x8;
#define ER_LOAD(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define ER_STORE(p, x) _mm_storeu_si128((__m128i *)(void *)(p), x)
#define ER_SOON(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)
#define ER_LOOK(table, index) _mm_shuffle_epi8(table, index)
#define ER_LOW(x) _mm_and_si128(x, _mm_set1_epi8(15))
#define ER_HIGH(x) ER_LOW(_mm_srli_epi16(x, 4))
#define ER_ZIP(x, y) _mm_unpacklo_epi8(x, y), _mm_unpackhi_epi8(x, y)
#define ER_ALL(x) _mm_set1_epi8(x)
#define ER_SAME(x, y) _mm_cmpeq_epi8(x, y)
#define ER_SOME(x) (~(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_setzero_si128())) & 0xFFFFu)
/* Adds 8 pairs of i16 to 8 sums. */
static ER_FOR_16 void er_add_pairs(er_16x8 x, er_16x8 y, er_16x8 *sums) {
  __m128i ones = _mm_set1_epi16(1);
  sums[0] = _mm_add_epi32(sums[0], _mm_madd_epi16(_mm_unpacklo_epi16(x, y), ones));
  sums[1] = _mm_add_epi32(sums[1], _mm_madd_epi16(_mm_unpackhi_epi16(x, y), ones));
}
#elif (defined(__ARM_NEON) || defined(__ARM_NEON__)) && !defined(__ARM_BIG_ENDIAN)
#define ER_SIMD 1
#include <arm_neon.h>
#define ER_FOR_16
typedef uint8x16_t er_16x8;
#define ER_LOAD(p) vld1q_u8((const uint8_t *)(p))
#define ER_STORE(p, x) vst1q_u8((uint8_t *)(p), x)
#define ER_SOON(p) __builtin_prefetch(p)
#define ER_ADD(a, b) vreinterpretq_u8_s32(vaddq_s32(vreinterpretq_s32_u8(a), b))
#define ER_LOW(x) vandq_u8(x, vdupq_n_u8(15))
#define ER_HIGH(x) vshrq_n_u8(x, 4)
#define ER_ZIP(x, y) vzipq_u8(x, y).val[0], vzipq_u8(x, y).val[1]
#define ER_ALL(x) vdupq_n_u8(x)
#define ER_SAME(x, y) vceqq_u8(x, y)
static uint32_t ER_SOME(er_16x8 x) {
  static const uint8_t bits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  uint8x16_t set = vandq_u8(vtstq_u8(x, x), vld1q_u8(bits));
  uint8x8_t sum = vpadd_u8(vget_low_u8(set), vget_high_u8(set));
  sum = vpadd_u8(sum, sum), sum = vpadd_u8(sum, sum);
  return vget_lane_u16(vreinterpret_u16_u8(sum), 0);
}
#if defined(__aarch64__)
#define ER_LOOK(table, index) vqtbl1q_u8(table, index)
#else
static er_16x8 ER_LOOK(er_16x8 table, er_16x8 index) {
  uint8x8x2_t halves = {{vget_low_u8(table), vget_high_u8(table)}};
  return vcombine_u8(vtbl2_u8(halves, vget_low_u8(index)), vtbl2_u8(halves, vget_high_u8(index)));
}
#endif
static void er_add_pairs(er_16x8 a, er_16x8 b, er_16x8 *sums) {
  int16x8_t x = vreinterpretq_s16_u8(a), y = vreinterpretq_s16_u8(b);
  sums[0] = ER_ADD(sums[0], vaddl_s16(vget_low_s16(x), vget_low_s16(y)));
  sums[1] = ER_ADD(sums[1], vaddl_s16(vget_high_s16(x), vget_high_s16(y)));
}
#elif defined(__wasm_simd128__)
#define ER_SIMD 1
#include <wasm_simd128.h>
#define ER_FOR_16
typedef v128_t er_16x8;
#define ER_LOAD(p) wasm_v128_load(p)
#define ER_STORE(p, x) wasm_v128_store(p, x)
#define ER_SOON(p) (void)*(const volatile uint8_t *)(p)
#define ER_LOOK(table, index) wasm_i8x16_swizzle(table, index)
#define ER_LOW(x) wasm_v128_and(x, wasm_i8x16_const_splat(15))
#define ER_HIGH(x) wasm_u8x16_shr(x, 4)
#define ER_ALL(x) wasm_i8x16_splat(x)
#define ER_SAME(x, y) wasm_i8x16_eq(x, y)
#define ER_SOME(x) ((uint32_t)wasm_i8x16_bitmask(wasm_i8x16_ne(x, wasm_i8x16_const_splat(0))))
#define ER_ZIP(x, y)                                                                \
  wasm_i8x16_shuffle(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), \
      wasm_i8x16_shuffle(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
static void er_add_pairs(er_16x8 x, er_16x8 y, er_16x8 *sums) {
  v128_t low = wasm_i32x4_add(wasm_i32x4_extend_low_i16x8(x), wasm_i32x4_extend_low_i16x8(y));
  v128_t high = wasm_i32x4_add(wasm_i32x4_extend_high_i16x8(x), wasm_i32x4_extend_high_i16x8(y));
  sums[0] = wasm_i32x4_add(sums[0], low), sums[1] = wasm_i32x4_add(sums[1], high);
}
#endif
#ifndef ER_SIMD
#define ER_SIMD 0
#define ER_SOON(p) (void)(p)
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define ER_FAST __attribute__((optimize("O3", "unroll-loops")))
#else
#define ER_FAST
#endif

/* What a column adds to some neighbouring items: its table, and their codes. */
typedef struct { const uint8_t *table, *codes; } er_column;
/* Whether this processor has the shuffles. */
static uint8_t er_simd(void) {
#if ER_SIMD && defined(__SSE2__)
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && c >> 9 & 1;
#else
  return ER_SIMD;
#endif
}
#if ER_SIMD
/* Adds what bytes of some columns say of 16 items at a time; tells how many items it has done. */
static ER_FOR_16 uint32_t er_add_16(const er_column *columns, uint32_t m, uint32_t n,
                                    int32_t *sums) {
  uint32_t i = 0;
  for (; n - i >= 16; i += 16) {
    er_16x8 total[4];
    for (uint32_t j = 0; j < 4; j++) total[j] = ER_LOAD(sums + i + 4 * j);
    for (uint32_t j = 0; j < m; j++) {
      const uint8_t *table = columns[j].table;
      er_16x8 code = ER_LOAD(columns[j].codes + i), low = ER_LOW(code), high = ER_HIGH(code);
      er_16x8 a = ER_LOOK(ER_LOAD(table), low), b = ER_LOOK(ER_LOAD(table + 16), low);
      er_16x8 c = ER_LOOK(ER_LOAD(table + 32), high), d = ER_LOOK(ER_LOAD(table + 48), high);
      er_16x8 first[2] = {ER_ZIP(a, b)}, second[2] = {ER_ZIP(c, d)};
      er_add_pairs(first[0], second[0], total);
      er_add_pairs(first[1], second[1], total + 2);
    }
    for (uint32_t j = 0; j < 4; j++) ER_STORE(sums + i + 4 * j, total[j]);
  }
  return i;
}
/* Writes a bit for each neighbour that may be in the history, 16 in a number, by the four halves of
 * their two lowest bytes: a mask has a bit for each of 8 parts of the history. */
static ER_FOR_16 void er_maybe(const uint8_t *masks, const uint8_t *low, const uint8_t *high,
                               uint32_t n, uint16_t *maybe) {
  er_16x8 p = ER_LOAD(masks), q = ER_LOAD(masks + 16);
  er_16x8 r = ER_LOAD(masks + 32), s = ER_LOAD(masks + 48);
  for (; n >= 16; n -= 16, low += 16, high += 16) {
    er_16x8 a = ER_LOAD(low), b = ER_LOAD(high);
    er_16x8 x = ER_LOOK(p, ER_LOW(a)) & ER_LOOK(q, ER_HIGH(a));
    er_16x8 y = ER_LOOK(r, ER_LOW(b)) & ER_LOOK(s, ER_HIGH(b)), both = x & y;
    *maybe++ = (uint16_t)ER_SOME(both);
  }
}
#endif

/* ---- Work memory ---- */
typedef struct {
  uint32_t *words;  /* where each codeword is */
  uint8_t *tables;  /* of each column 64 bytes: t of its words, low bytes of 16, high, and again */
  double *weights;  /* of items with 0, 1, ... columns: lambda' * rho [7.4] */
  uint32_t *active; /* where the chunks start that reach into a tile */
  int64_t *scores;  /* of a tile; with the sums behind them room for vectors y, or CRC tables */
  int32_t *sums;
  double *p;
  int16_t *q;
  uint8_t masks[64]; /* of the history's numbers, for er_maybe */
  uint8_t *filter;   /* a bit for each number, by its lowest digits; before, p lies there */
  uint32_t *history; /* its distinct numbers, the oldest first */
  uint32_t n_history;
  uint8_t *held; /* a bit for each item, whether the history has it; before, a filter of ids */
  uint32_t *hidden, *only, *order;
  size_t n_hidden, n_only;
  er_item *found;  /* the best items so far, and their places, a heap until they are sorted */
  uint32_t *place; /* for a list that varies also their numbers, or NONE once they are chosen, */
  uint32_t *left;  /* vectors and lengths, and how near they are to one that is chosen */
  int32_t *y;
  double *lengths, *near;
} er_work;

#define ER_ROOM (12u * ER_TILE / 4u) /* whole numbers in scores and sums */
static void *er_take(uint8_t *base, size_t *at, size_t count, size_t each) {
  size_t start = *at, most = ((size_t)-1 / 2 - start) / each;
  *at += ((count < most ? count : most) * each + 7) & ~(size_t)7; /* the most fits nowhere */
  return base ? base + start : NULL;
}
/* Divides work memory (NULL: none yet) for a question (NULL: for reading), and tells its size. */
static size_t er_divide(er_work *w, void *base, uint32_t n_books, uint32_t n_columns,
                        uint32_t n_chunks, uint32_t n_blocks, uint32_t n_items, er_question *ask) {
  size_t at = 0, most = 0;
  uint8_t *b = (uint8_t *)base;
  w->scores = (int64_t *)er_take(b, &at, ER_TILE, 8);
  w->sums = (int32_t *)er_take(b, &at, ER_TILE, 4);
  w->words = (uint32_t *)er_take(b, &at, 32 * (size_t)n_books, 4);
  w->tables = (uint8_t *)er_take(b, &at, n_columns, 64);
  w->active = (uint32_t *)er_take(b, &at, n_chunks, 4);
  if (!ask) return at;
  w->weights = (double *)er_take(b, &at, n_columns + 1, 8);
  w->q = (int16_t *)er_take(b, &at, 8 * n_blocks, 2);
  w->filter = (uint8_t *)er_take(b, &at, n_blocks < 16 ? 16 : n_blocks, 64);
  w->p = (double *)(void *)w->filter;
  w->held = (uint8_t *)er_take(b, &at, n_items / 65536 + 1, 8192);
  w->history = (uint32_t *)er_take(b, &at, ask->n_history, 4);
  w->hidden = (uint32_t *)er_take(b, &at, ask->n_exclude, 4);
  (void)er_take(b, &at, ask->n_history, 4); /* hidden items of the history */
  w->only = (uint32_t *)er_take(b, &at, ask->n_only, 4);
  most = ask->n_history > ask->n_exclude ? ask->n_history : ask->n_exclude;
  if (most < ask->n_only) most = ask->n_only;
  w->order = (uint32_t *)er_take(b, &at, most, 4), most = ask->diversity > 0 ? 5 : 1;
  most = ask->k < 1u << 28 ? most * ask->k : (size_t)-1;
  w->found = (er_item *)er_take(b, &at, most, sizeof *w->found);
  w->place = (uint32_t *)er_take(b, &at, most, 4);
  if (!(ask->diversity > 0)) return at;
  w->left = (uint32_t *)er_take(b, &at, most, 4);
  w->y = (int32_t *)er_take(b, &at, most, 32 * n_blocks);
  w->lengths = (double *)er_take(b, &at, most, 8), w->near = (double *)er_take(b, &at, most, 8);
  return at;
}
/* Finds where codewords and columns are. Of a column the first bytes of its table say codebook,
 * block, scale and gain, until its table is there. */
static void er_place(er_stream *s, const er_work *w) {
  for (uint32_t i = 0; i < s->starts[1]; i++) {
    er_chunk c = er_chunk_at(s->data, s->chunks[i]);
    for (uint32_t k = 0; k < c.count; k++)
      w->words[32 * c.which + c.first + k] = c.at + 8 * c.width * k;
  }
  for (uint32_t i = s->starts[1]; i < s->starts[2]; i++) {
    er_chunk c = er_chunk_at(s->data, s->chunks[i]);
    for (uint32_t k = 0; k < c.count; k++)
      memcpy(w->tables + 64 * (size_t)(c.which + k), s->data + c.at + 16 * k, 16);
  }
}

/* ---- Vectors and gains [3, 7.3] ---- */
/* Adds what a byte of a column says to a vector. */
ER_FAST static void er_decode(er_stream *s, const er_work *w, uint32_t column, uint32_t code,
                      int32_t *restrict y) {
  const uint8_t *about = w->tables + 64 * (size_t)column;
  uint32_t book = er_16(about);
  const int8_t *low = (const int8_t *)s->data + w->words[32 * book + (code & 15)];
  const int8_t *high = (const int8_t *)s->data + w->words[32 * book + 16 + (code >> 4)];
  int16_t scale = (int16_t)er_16(about + 4);
  y += 8 * er_16(about + 2);
  for (uint32_t k = 0, n = 8u * s->width[book]; k < n; k += 8) {
    int16_t both[8];
    for (int j = 0; j < 8; j++) both[j] = (int16_t)(low[k + j] + high[k + j]);
    for (int j = 0; j < 8; j++) y[k + j] += scale * both[j];
  }
}
static uint64_t er_square(const int32_t *y, uint32_t n) {
  uint64_t sum = 0;
  for (uint32_t k = 0; k < n; k++) sum += (uint64_t)((int64_t)y[k] * y[k]);
  return sum;
}
/* Tiles of items that have something, and the chunks that reach into each. */
typedef struct { uint32_t base, end, next, n_active, *active; } er_tiles;
static int er_next_tile(er_stream *s, er_tiles *t) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < t->n_active; i++) {
    const uint8_t *p = s->data + t->active[i];
    if (er_32(p + 8) + er_32(p + 12) > t->end) t->active[kept++] = t->active[i];
  }
  t->n_active = kept, t->base = t->end;
  if (!kept) {
    if (t->next == s->n_sorted) return 0;
    t->base = er_32(s->data + s->chunks[t->next] + 8);
  }
  t->end = s->n_items - t->base < ER_TILE ? s->n_items : t->base + ER_TILE;
  while (t->next < s->n_sorted && er_32(s->data + s->chunks[t->next] + 8) < t->end)
    t->active[t->n_active++] = s->chunks[t->next++];
  return 1;
}
/* Items of a chunk within [base, end), or 0; `from` is the first of them. */
static uint32_t er_overlap(const er_chunk *c, uint32_t base, uint32_t end, uint32_t *from) {
  uint32_t stop = c->first + c->count < end ? c->first + c->count : end;
  *from = c->first > base ? c->first : base;
  return stop > *from ? stop - *from : 0;
}
/* The vectors of some neighbouring items, from the chunks of their tile. */
static void er_vectors(er_stream *s, const er_work *w, const er_tiles *t, uint32_t base, uint32_t n,
                       int32_t *y) {
  uint32_t D = 8 * s->n_blocks;
  memset(y, 0, (size_t)n * D * 4);
  for (uint32_t i = 0; i < t->n_active; i++) {
    er_chunk c = er_chunk_at(s->data, t->active[i]);
    uint32_t from, count = c.kind == 3 ? er_overlap(&c, base, base + n, &from) : 0;
    const uint8_t *codes = s->data + c.at;
    for (uint32_t k = 0; k < count; k++)
      er_decode(s, w, c.which, codes[from - c.first + k], y + (size_t)(from - base + k) * D);
  }
}
/* Sorts the chunks, and computes the gains of items with new codes. */
static void er_settle(elasticrec_stream *s, er_work *w) {
  er_tiles t = {0, 0, 0, 0, w->active};
  uint32_t D = 8 * s->n_blocks, step = ER_ROOM / D;
  int32_t *y = (int32_t *)w->scores;
  if (s->n_sorted == s->n_chunks) return;
  er_sort_chunks(s), er_place(s, w);
  for (t.next = s->starts[3], s->most = 0; er_next_tile(s, &t);) {
    if (s->most < t.n_active) s->most = t.n_active; /* so many chunks reach into one tile */
    for (uint32_t i = t.base, n; i < t.end; i += n ? n : 1) {
      n = !(s->slots[i] & 128) ? 0 : t.end - i < step ? t.end - i : step;
      if (n && s->cosine) er_vectors(s, w, &t, i, n, y);
      for (uint32_t k = 0; k < n; k++) {
        uint32_t last = (s->state[i + k] & 2047u) - 1; /* its last column, where square is not 0 */
        double gain = s->popularity[er_digits(i + k + 1)];
        uint64_t square = s->cosine ? er_square(y + (size_t)k * D, D) : 0;
        if (square) gain = s->unit * gain * er_16(w->tables + 64 * (size_t)last + 6) / 32768;
        if (s->cosine) gain = square ? gain / er_root(square) + 0.5 : 0;
        s->gain[i + k] = gain < 256 ? (uint8_t)gain : 255, s->slots[i + k] &= 127;
      }
    }
  }
}

/* ---- Reading [1 to 5] ---- */
/* Checks as much of a head as there is [1], and tells N, V, least and length. */
static int er_check_head(const uint8_t *p, size_t size, uint64_t min_sequence, er_error *error) {
  uint64_t least = size < 48 ? 0 : er_64(p + 40);
  for (uint32_t i = 0; i < 8 && i < size; i++)
    ER_IS("magic, a byte", p[i], (uint8_t)"\211ELASTIC"[i]);
  if (size >= 10) ER_IS("version", er_16(p + 8), 4);
  uint32_t N = size >= 12 ? er_16(p + 10) : 1, start = ER_HEAD(N);
  ER_WITHIN("blocks (N)", N, 1, 64);
  ER_WITHIN("bytes (a stream is usable from `least` on)", size, least > start ? least : start,
            UINT64_MAX);
  ER_IS("CRC-32 of the head", er_crc(0, p, start - 4, NULL), er_32(p + start - 4));
  ER_WITHIN("least", least, start + 33, (uint64_t)1 << 40);
  ER_WITHIN("items (V)", er_32(p + 12), 1, least < 1u << 26 ? least : 1u << 26);
  ER_WITHIN("id kind", p[16], 0, 3);
  for (int at = 17; at < 19; at++) ER_WITHIN(at == 17 ? "score" : "person", p[at], 0, 1);
  ER_IS("reserved bytes", er_32(p + 20), 0);
  ER_WITHIN("sequence number", er_64(p + 24), min_sequence, UINT64_MAX);
  ER_WITHIN("date of the training", er_64(p + 32), 0, 253402300799u);
  ER_WITHIN("length of the stream", er_64(p + 48), least, (uint64_t)1 << 40);
  ER_IS("value of vote 0", er_16(p + 120), 0);
  for (int at = 122; at < 152; at += 2)
    ER_WITHIN("value of a vote", er_16(p + at), er_16(p + at - 2), 65535);
  for (int at = 180; at < 196; at += 4)
    if (er_real(p + at) < 0)
      return er_refuse(error, "unit, recency or vote weight, bits", er_32(p + at), 0, 0x4E6E6B28);
  return ELASTICREC_OK;
}
/* Whether an id's bytes are UTF-8. */
static int er_utf8(const uint8_t *p, uint32_t n) {
  while (n) {
    uint32_t lead = *p, more = lead < 0xC2 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    if ((lead >= 0x80 && (more == 0 || lead > 0xF4)) || n <= more) return 0;
    for (uint32_t i = 1; i <= more; i++)
      if ((p[i] & 0xC0) != 0x80) return 0;
    if ((lead == 0xE0 && p[1] < 0xA0) || (lead == 0xED && p[1] > 0x9F) ||
        (lead == 0xF0 && p[1] < 0x90) || (lead == 0xF4 && p[1] > 0x8F))
      return 0;
    p += more + 1, n -= more + 1;
  }
  return 1;
}
static int er_read_ids(elasticrec_stream *s, const er_chunk *c, er_error *error) {
  const uint8_t *sizes = s->data + c->at, *text = sizes + 2 * (size_t)c->count;
  uint64_t left = c->length - 2 * (uint64_t)c->count;
  ER_WITHIN("id kind of a stream with IDS", s->id_kind, 1, 3);
  for (uint32_t i = 0; s->id_kind == 3 && i < c->count; i++) {
    uint32_t n = er_16(sizes + 2 * (size_t)i);
    ER_WITHIN("bytes of a text id", n, 1, left);
    if (!er_utf8(text, n)) return er_refuse(error, "first byte of an id not in UTF-8", *text, 0, 0);
    text += n, left -= n;
  }
  if (s->id_kind == 3) ER_IS("bytes after the last id", left, 0);
  s->n_ids += c->count;
  return ELASTICREC_OK;
}
/* Checks a COLUMNS chunk in full before it takes it in. */
static int er_read_columns(elasticrec_stream *s, const er_chunk *c, er_error *error) {
  uint32_t cover[64], widths = s->widths;
  uint32_t complete = s->n_books - (s->words < 32 && s->n_books > 0);
  memcpy(cover, s->cover, sizeof cover);
  for (uint32_t i = 0; i < c->count; i++) {
    const uint8_t *p = s->data + c->at + 16 * i;
    uint32_t book = er_16(p), block = er_16(p + 2), scale = er_16(p + 4), width;
    if (book >= complete)
      return er_refuse(error, "codebook of a column, and how many are complete", book, 0, complete);
    width = s->width[book];
    ER_WITHIN("first block of a column", block, 0, s->n_blocks - width);
    ER_WITHIN("scale of a column", scale, 1, 16384);
    ER_WITHIN("gain of a column", er_16(p + 6), 1, 32768);
    for (int at = 8; at < 16; at += 4)
      if (er_real(p + at) < 0)
        return er_refuse(error, "vote weight of a column, as bits", er_32(p + at), 0, 0x4E6E6B28);
    ER_WITHIN("sum of the columns' widths, less 1", widths += width - 1, 0, 16 * s->n_blocks);
    for (uint32_t k = block; k < block + width; k++)
      ER_WITHIN("sum of a block's scales", cover[k] += scale, 1, 16384);
  }
  memcpy(s->cover, cover, sizeof cover), s->widths = widths, s->n_columns += c->count;
  return ELASTICREC_OK;
}
/* Checks a CODES or NEIGHBOURS chunk in full before it takes it in. */
static int er_read_items(elasticrec_stream *s, const er_chunk *c, er_error *error) {
  uint16_t *state = s->state + c->first;
  uint8_t *slots = s->slots + c->first;
  uint32_t n = c->count, most = 0, fewest = 2047, vote;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t has = c->kind == 3 ? state[i] & 2047u : slots[i] & 127u;
    most = has > most ? has : most, fewest = has < fewest ? has : fewest;
  }
  ER_IS("fewest columns or slots of its items before", fewest, c->which);
  ER_IS("most columns or slots of its items before", most, c->which);
  if (c->kind == 3) {
    if (s->used <= c->which) s->used = c->which + 1;
    for (uint32_t i = 0; i < n; i++) state[i]++, slots[i] |= 128;
    return ELASTICREC_OK;
  }
  const uint8_t *row = s->data + c->at + (size_t)s->full * n - 1;
  for (uint32_t r = 1; n % 8 && r <= s->rest; r++)
    ER_IS("unused bits", (uint32_t)row[(size_t)r * ((n + 7) / 8)] >> n % 8, 0);
  if (n % 2) ER_IS("unused vote", (uint32_t)s->data[c->at + c->length - 1] >> 4, 0);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t number = er_neighbour(s, c, i, &vote);
    ER_WITHIN("neighbour", number, 0, vote ? s->n_items - 1 : 0);
    ER_WITHIN("vote after a smaller one", vote, 0, 15u - (state[i] >> 11 & 15));
  }
  for (uint32_t i = 0; i < n; i++) {
    (void)er_neighbour(s, c, i, &vote);
    state[i] = (uint16_t)((state[i] & 0x87FFu) | (15 - vote) << 11);
    slots[i] = (uint8_t)((slots[i] + 1) | (slots[i] & 127 || state[i] & 2047 ? 0 : 128));
  }
  return ELASTICREC_OK;
}
/* Reads one complete chunk [2]; takes in nothing of one that breaks a rule. */
static int er_read_chunk(elasticrec_stream *s, const er_chunk *c, const uint32_t *tables,
                         er_error *error) {
  const uint8_t *p = s->data + s->end;
  uint32_t stop = c->at + c->length, n = c->count;
  uint64_t known = s->id_kind ? s->n_ids : s->n_items;
  uint32_t crc = er_crc(er_crc(er_crc(0, p, 16, NULL), er_zeros, 4, NULL), p + 20, 12, NULL);
  ER_IS("CRC-32", er_crc(crc, p + 32, c->length, tables), er_32(p + 16));
  if (s->key.sha256) {
    uint8_t digest[32];
    s->key.sha256(s->key.context, p, 32 + (size_t)c->length, digest);
    for (int i = 0; i < 12; i++) {
      ER_IS("SHA-256 by the link before it, a byte", digest[i], s->link[i]);
      if (stop == s->length) ER_IS("link of the last chunk, a byte", p[20 + i], 0);
    }
  }
  ER_WITHIN("start", s->end + (uint64_t)4096 * 1024, (uint64_t)4096 * s->n_chunks, UINT64_MAX);
  ER_WITHIN("kind", c->kind, 1, 5);
  ER_WITHIN("width", c->width, c->kind == 1, c->kind == 1 ? s->n_blocks : 0);
  uint32_t last = s->n_books && s->words < 32; /* a codebook has begun */
  uint32_t book = s->n_books - last, open = s->n_columns, text = s->id_kind == 3;
  uint64_t slot = (uint64_t)s->full * n + s->rest * (((uint64_t)n + 7) / 8) + ((uint64_t)n + 1) / 2;
  uint64_t ids = text ? c->length : (uint64_t)4 * s->id_kind * n;
  /* By kind: lowest and highest `which`, `first`, most of first + count, bytes of payload. */
  uint64_t rules[5][5] = {
      {book, book < 63 ? book : 63, last ? s->words : 0, 32, 8 * c->width * (uint64_t)n},
      {open, open, 0, 1024 - (uint64_t)open, 16 * (uint64_t)n},
      {0, open ? open - 1 : 0, c->first, open ? known : 0, n},
      {0, 63, c->first, known, slot},
      {0, 0, s->n_ids, s->n_items, ids}};
  const uint64_t *rule = rules[c->kind - 1];
  ER_WITHIN("which", c->which, rule[0], rule[1]);
  ER_WITHIN("first", c->first, rule[2], rule[2]);
  ER_WITHIN("count", n, 1, UINT32_MAX);
  ER_WITHIN("first + count", (uint64_t)c->first + n, 1, rule[3]);
  ER_WITHIN("bytes of payload", c->length, rule[4], rule[4]);
  if (c->kind == 5 && text) ER_WITHIN("bytes of payload", c->length, (uint64_t)3 * n, UINT64_MAX);
  if (c->kind == 1 && last) ER_WITHIN("width", c->width, s->width[book], s->width[book]);
  if (c->kind == 2) return er_read_columns(s, c, error);
  if (c->kind == 5) return er_read_ids(s, c, error);
  if (c->kind != 1) return er_read_items(s, c, error);
  if (!last) s->width[s->n_books++] = (uint8_t)c->width;
  s->words = c->first + n;
  return ELASTICREC_OK;
}
/* Reads further chunks until one is incomplete. */
static int er_read(elasticrec_stream *s, size_t size, const uint32_t *tables, er_error *error) {
  uint32_t have = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
  while (have - s->end >= 32) {
    int verdict = ELASTICREC_OK;
    er_chunk c = er_chunk_at(s->data, s->end);
    uint64_t stop = (uint64_t)c.at + c.length;
    if (stop > s->length) verdict = er_refuse(error, "end", stop, 0, s->length);
    else if (stop > have) break;
    else if (s->n_chunks == s->max_chunks)
      return er_refuse(error, "chunks", (uint64_t)s->n_chunks + 1, 0, s->max_chunks),
             ELASTICREC_MEMORY;
    else verdict = er_read_chunk(s, &c, tables, error);
    if (verdict != ELASTICREC_OK) {
      if (error) error->chunk = s->n_chunks;
      return verdict;
    }
    memcpy(s->link, s->data + s->end + 20, 12), s->chunks[s->n_chunks++] = s->end;
    s->end = (uint32_t)stop, s->useful |= stop == s->least;
  }
  if (s->end != size) ER_WITHIN("start of a chunk", s->end, 0, s->length < 32 ? 0 : s->length - 32);
  if (!s->useful) return er_refuse(error, "end of a chunk (least)", s->end, s->least, s->least);
  return ELASTICREC_OK;
}
int elasticrec_size(const void *data, size_t size, size_t most, elasticrec_sizes *sizes,
                    er_error *error) {
  const uint8_t *p = (const uint8_t *)data;
  uint64_t chunks = 0, books = 0, columns = 0, at, limit, all;
  er_work w;
  ER_TRY(er_check_head(p, size, 0, error));
  if (most < size) most = size;
  limit = most < UINT32_MAX ? most : UINT32_MAX;
  all = 1025 + limit / 4096; /* chunks that the format allows in so many bytes */
  for (at = ER_HEAD(er_16(p + 10)); at < limit && at + 32 <= size && chunks < all; chunks++) {
    if (p[at + 4] == 1 && er_16(p + at + 6) < 64 && er_16(p + at + 6) >= books)
      books = er_16(p + at + 6) + 1u;
    if (p[at + 4] == 2) columns += er_32(p + at + 12) < 1024 ? er_32(p + at + 12) : 1024;
    at += 32 + (uint64_t)er_32(p + at);
  }
  if (most > size) { /* what may come */
    uint64_t more = (limit - (at < limit ? at : limit)) / 33;
    chunks = chunks + more < all ? chunks + more : all, books = 64, columns = 1024;
  }
  if (columns > 1024) columns = 1024;
  sizes->stream = 4 * (size_t)er_32(p + 12) + 4 * (size_t)chunks + 8;
  sizes->work = er_divide(&w, NULL, (uint32_t)books, (uint32_t)columns, (uint32_t)chunks,
                          er_16(p + 10), 0, NULL);
  return ELASTICREC_OK;
}
int elasticrec_refresh(elasticrec_stream *s, const void *data, size_t size, void *work,
                       size_t work_bytes, er_error *error) {
  er_work w;
  elasticrec_sizes sizes;
  int verdict;
  if (size < s->end) return er_refuse(error, "bytes", size, s->end, s->length);
  ER_TRY(elasticrec_size(data, size, size, &sizes, error));
  ER_ENOUGH("work memory", work_bytes, sizes.work);
  s->data = (const uint8_t *)data;
  er_divide(&w, work, s->n_books, s->n_columns, 0, s->n_blocks, 0, NULL);
  er_crc_tables((uint32_t *)w.scores);
  verdict = er_read(s, size, (const uint32_t *)w.scores, error);
  er_divide(&w, work, s->n_books, s->n_columns, s->n_chunks, s->n_blocks, 0, NULL);
  er_settle(s, &w);
  return verdict;
}
int elasticrec_open(elasticrec_stream *s, const void *data, size_t size, const elasticrec_key *key,
                    uint64_t min_sequence, void *memory, size_t memory_bytes, void *work,
                    size_t work_bytes, er_error *error) {
  const uint8_t *p = (const uint8_t *)data;
  uint32_t V, N, start, digits;
  size_t room;
  ER_TRY(er_check_head(p, size, min_sequence, error));
  memset(s, 0, sizeof *s);
  V = s->n_items = er_32(p + 12), N = s->n_blocks = er_16(p + 10), start = ER_HEAD(N);
  if (key) {
    elasticrec_bytes head = {p, start - 68};
    s->key = *key;
    if (er_same(p + start - 68, s->link, 12) ||
        !key->verify(key->context, p + start - 68, &head, 1))
      return er_refuse(error, "signature of the head by this key", 0, 1, 1);
  }
  s->id_kind = p[16], s->cosine = p[17], s->for_vector = p[18], s->min_support = p[19];
  s->sequence = er_64(p + 24), s->trained = er_64(p + 32);
  s->least = er_64(p + 40), s->length = er_64(p + 48);
  for (int v = 0; v < 16; v++) s->values[v] = (uint16_t)er_16(p + 120 + 2 * v);
  memcpy(s->popularity, p + 152, 28), s->unit = er_real(p + 180), s->recency = er_real(p + 184);
  s->weights[0] = er_real(p + 188), s->weights[1] = er_real(p + 192);
  memcpy(s->link, p + start - 80, 12), digits = V > 1 ? er_digits(V - 1) : 1;
  s->full = (uint8_t)(digits / 8), s->rest = digits % 8;
  s->data = p, s->end = start, s->words = 32, s->simd = er_simd();
  ER_ENOUGH("memory of the stream", memory_bytes, 4 * (size_t)V + 8);
  room = (memory_bytes - 4 * (size_t)V) / 4;
  s->max_chunks = room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
  s->chunks = (uint32_t *)memory; /* before the items: aligned to 4 whatever their number */
  s->state = (uint16_t *)(void *)(s->chunks + room);
  s->slots = (uint8_t *)(s->state + V), s->gain = s->slots + V, memset(s->state, 0, 4 * (size_t)V);
  return elasticrec_refresh(s, data, size, work, work_bytes, error);
}
/* Checks what files of vectors and of withdrawn items have in common [9, 10]. */
static int er_check_other(er_stream *s, const uint8_t *p, size_t size, const char *magic,
                          uint32_t version, uint32_t D, er_error *error) {
  ER_WITHIN("bytes of a vector or of a withdrawn list", size, 48, SIZE_MAX);
  for (int i = 0; i < 8; i++) ER_IS("magic of the file, a byte", p[i], (uint8_t)magic[i]);
  ER_IS("version of the file", er_16(p + 8), version);
  ER_IS("numbers of the vector (D), or reserved bytes", er_16(p + 10), D);
  uint32_t crc = er_crc(er_crc(er_crc(0, p, 12, NULL), er_zeros, 4, NULL), p + 16, size - 16, NULL);
  ER_IS("CRC-32 of the file", crc, er_32(p + 12));
  for (int i = 0; i < 32; i++)
    ER_IS(D ? "model id of the vector, a byte" : "model id of the list, a byte", p[16 + i],
          s->data[56 + i]);
  return ELASTICREC_OK;
}
int elasticrec_withdraw(elasticrec_stream *s, const void *data, size_t size, er_error *error) {
  const uint8_t *p = (const uint8_t *)data;
  uint64_t before = 0; /* 1 + the number before */
  ER_TRY(er_check_other(s, p, size, "\211ELWITHD", 1, 0, error));
  ER_WITHIN("bytes of a withdrawn list", size, 120, SIZE_MAX);
  ER_IS("bytes after the last number", size % 4, 0);
  if (s->key.verify) {
    elasticrec_bytes parts[5] = {
        {p, 12}, {er_zeros, 4}, {p + 16, 40}, {er_zeros, 64}, {p + 120, size - 120}};
    if (er_same(p + 56, er_zeros, 64) || !s->key.verify(s->key.context, p + 56, parts, 5))
      return er_refuse(error, "signature of the withdrawn list by this key", 0, 1, 1);
  }
  for (size_t at = 120; at < size; at += 4) {
    ER_WITHIN("withdrawn item", er_32(p + at), before, s->n_items - 1);
    before = (uint64_t)er_32(p + at) + 1;
  }
  for (uint32_t i = 0; i < s->n_items; i++) s->state[i] &= 0x7FFF;
  for (size_t at = 120; at < size; at += 4) s->state[er_32(p + at)] |= 0x8000;
  return ELASTICREC_OK;
}
void elasticrec_info(er_stream *s, elasticrec_about *about) {
  elasticrec_about found = {s->sequence,   s->trained,     s->least,     s->length,
                            s->end,        s->n_items,     s->n_blocks,  0,
                            s->n_chunks,   s->n_columns,   s->id_kind,   s->cosine,
                            s->for_vector, s->min_support, s->data + 56, s->data + 88};
  for (uint32_t i = 0; i < s->n_items; i++)
    found.listable += (s->state[i] & 2047) + (s->slots[i] & 127u) > 0;
  *about = found;
}

/* ---- Ids [5] ---- */
/* Ids in order, from one of a chunk's on. */
typedef struct {
  uint32_t chunk, i, item;
  er_chunk c;
  const uint8_t *text;
} er_ids;
static int er_next_id(er_stream *s, er_ids *at, elasticrec_id *id) {
  while (at->i == at->c.count) {
    if (at->chunk == s->starts[3]) return 0;
    at->c = er_chunk_at(s->data, s->chunks[at->chunk++]), at->i = 0;
    at->text = s->data + at->c.at + 2 * (size_t)at->c.count;
  }
  const uint8_t *p = s->data + at->c.at;
  at->item = at->c.first + at->i, id->text = NULL;
  if (s->id_kind == 3) {
    id->text = (const char *)at->text, id->number = er_16(p + 2 * (size_t)at->i);
    at->text += id->number;
  } else {
    id->number = s->id_kind == 1 ? er_32(p + 4 * (size_t)at->i) : er_64(p + 8 * (size_t)at->i);
  }
  at->i++;
  return 1;
}
/* Below 0, 0 or above 0, as an id comes before, is, or comes after another one. */
static int er_compare(elasticrec_id a, elasticrec_id b) {
  const uint8_t *x = (const uint8_t *)a.text, *y = (const uint8_t *)b.text;
  if (a.number != b.number || !a.text != !b.text)
    return a.number < b.number || (a.number == b.number && b.text) ? -1 : 1;
  for (uint64_t i = 0; x && i < a.number; i++)
    if (a.number - i >= 8 && er_64(x + i) == er_64(y + i)) i += 7;
    else if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}
static int er_id_before(const void *ids, uint32_t a, uint32_t b) {
  return er_compare(((const elasticrec_id *)ids)[a], ((const elasticrec_id *)ids)[b]) < 0;
}
/* A number for the filter, from an id's length and its first and last bytes. */
static uint32_t er_trace(elasticrec_id id) {
  const uint8_t *p = (const uint8_t *)id.text;
  uint32_t trace = (uint32_t)(id.number ^ id.number >> 32);
  if (p && id.number >= 4) trace += er_32(p) * 31 + er_32(p + id.number - 4);
  for (uint64_t i = 0; p && id.number < 4 && i < id.number; i++) trace = trace * 257 + p[i];
  return trace * 2654435761u >> 17;
}
/* Writes the items of some ids, ELASTICREC_NONE where they do not occur; reads each id of the
 * stream once. `order` has room for as many numbers as there are ids. */
static int er_resolve(er_stream *s, const elasticrec_id *ids, size_t n, uint8_t *filter,
                      uint32_t *order, uint32_t *items, er_error *error) {
  er_ids at = {s->starts[2], 0, 0, {0, 0, 0, 0, 0, 0, 0}, NULL};
  elasticrec_id id;
  for (size_t i = 0; i < n; i++) {
    int no_number = s->id_kind || ids[i].number >= s->n_items;
    items[i] = no_number ? ELASTICREC_NONE : (uint32_t)ids[i].number, order[i] = (uint32_t)i;
  }
  if (!s->id_kind || !n) return ELASTICREC_OK;
  if (filter) {
    memset(filter, 0, ER_FILTER);
    for (size_t i = 0; i < n; i++) er_set(filter, er_trace(ids[i]));
  }
  er_sort(order, n, er_id_before, ids);
  while (er_next_id(s, &at, &id)) {
    size_t low = 0, high = n;
    if (filter && !er_bit(filter, er_trace(id))) continue;
    while (low < high) {
      size_t middle = (low + high) / 2;
      if (er_compare(ids[order[middle]], id) < 0) low = middle + 1;
      else high = middle;
    }
    for (; low < n && er_compare(ids[order[low]], id) == 0; low++) {
      if (items[order[low]] != ELASTICREC_NONE)
        return er_refuse(error, "an id twice: the later item", at.item, items[order[low]],
                         items[order[low]]);
      items[order[low]] = at.item;
    }
  }
  return ELASTICREC_OK;
}
int elasticrec_find(er_stream *s, elasticrec_id id, uint32_t *item, er_error *error) {
  uint32_t order;
  ER_TRY(er_resolve(s, &id, 1, NULL, &order, item, error));
  return *item == ELASTICREC_NONE ? ELASTICREC_UNKNOWN : ELASTICREC_OK;
}
int elasticrec_id_of(er_stream *s, uint32_t item, elasticrec_id *id) {
  er_ids at;
  uint32_t i = s->starts[2];
  id->text = NULL, id->number = item;
  if (item >= (s->id_kind ? s->n_ids : s->n_items)) return ELASTICREC_UNKNOWN;
  if (!s->id_kind) return ELASTICREC_OK;
  do at.c = er_chunk_at(s->data, s->chunks[i++]);
  while (item - at.c.first >= at.c.count);
  at.chunk = i, at.i = item - at.c.first, at.text = s->data + at.c.at + 2 * (size_t)at.c.count;
  for (i = 0; s->id_kind == 3 && i < at.i; i++) at.text += er_16(s->data + at.c.at + 2 * (size_t)i);
  (void)er_next_id(s, &at, id);
  return ELASTICREC_OK;
}

/* ---- The person [6] ---- */
static uint8_t *er_part(const er_work *w, uint32_t number) {
  return w->held + (number >> 16 << 13 | (number & 8191));
}
static uint32_t er_held(const er_work *w, uint32_t number) {
  return (uint32_t)*er_part(w, number) >> (number >> 13 & 7) & 1;
}
/* Leaves the distinct items of a history, each where it was last. */
static void er_distinct(er_stream *s, er_work *w, size_t n) {
  size_t kept = n;
  memset(w->held, 0, 8192 * (s->n_items / 65536 + 1));
  for (size_t i = n; i-- > 0;) {
    uint32_t number = w->history[i];
    if (number == ELASTICREC_NONE || er_held(w, number)) continue;
    *er_part(w, number) |= (uint8_t)(1u << (number >> 13 & 7));
    w->history[--kept] = number;
  }
  w->n_history = (uint32_t)(n - kept), w->history += kept;
}
/* The vectors of some items, whose chunks are looked for. */
static void er_decode_all(er_stream *s, const er_work *w, const uint32_t *items, uint32_t n,
                          int32_t *y) {
  uint32_t D = 8 * s->n_blocks;
  memset(y, 0, (size_t)n * D * 4);
  for (uint32_t i = s->starts[3]; i < s->n_sorted; i++) {
    er_chunk c = er_chunk_at(s->data, s->chunks[i]);
    for (uint32_t j = 0, at; c.kind == 3 && j < n; j++)
      if ((at = items[j] - c.first) < c.count)
        er_decode(s, w, c.which, s->data[c.at + at], y + (size_t)j * D);
  }
}
/* p of a person who is known by her history; the arithmetic is that of the page, step by step. */
static void er_history(er_stream *s, er_work *w) {
  uint32_t D = 8 * s->n_blocks, n = w->n_history, group = ER_ROOM / D, heard = 0;
  int32_t *y = (int32_t *)w->scores;
  for (uint32_t k = 0; k < D; k++) w->p[k] = 0;
  for (uint32_t from = 0; from < n; from += group) {
    uint32_t some = n - from < group ? n - from : group;
    er_decode_all(s, w, w->history + from, some, y);
    for (uint32_t j = 0; j < some; j++) {
      uint64_t square = er_square(y + (size_t)j * D, D);
      heard |= s->state[w->history[from + j]] & 2047u;
      if (!square) continue;
      double t = 1 / (1 + er_times(s->recency, (double)(n - 1 - (from + j)))) / er_root(square);
      for (uint32_t k = 0; k < D; k++) w->p[k] += er_times((double)y[(size_t)j * D + k], t);
    }
  }
  for (uint32_t k = 0; !heard && k < D; k++) w->p[k] = (int8_t)s->data[196 + k];
}
/* p of a person's file [9]. */
static int er_vector(er_stream *s, er_work *w, const uint8_t *p, size_t size, er_error *error) {
  uint32_t D = 8 * s->n_blocks;
  ER_TRY(er_check_other(s, p, size, "\211ELVECTO", 2, D, error));
  ER_WITHIN("bytes of the vector", size, 48 + 2 * D, 48 + 2 * D);
  for (uint32_t k = 0; k < D; k++) {
    uint32_t bits = er_16(p + 48 + 2 * k);
    ER_WITHIN("exponent of a number of the vector", bits >> 10 & 31, 0, 30);
    w->p[k] = er_half(bits);
  }
  return ELASTICREC_OK;
}
/* A codeword by q: whole and exact, below 2^31 in size. */
static int64_t er_dot(const int8_t *word, const int16_t *q, uint32_t blocks) {
  int32_t sum = 0;
  for (; blocks; blocks--, word += 8, q += 8)
    for (int k = 0; k < 8; k++) sum += (int32_t)word[k] * q[k];
  return sum;
}
/* q, the tables t of the columns, and the worth of votes [6, 7]. */
static void er_person(er_stream *s, er_work *w, int by_vector) {
  uint32_t D = 8 * s->n_blocks, n = w->n_history;
  double m = 0, most = 0, rho = 1048576;
  uint64_t square = 0;
  for (uint32_t k = 0; k < D; k++) {
    double size = w->p[k] < 0 ? -w->p[k] : w->p[k];
    if (size > m) m = size;
  }
  for (uint32_t k = 0; k < D; k++) {
    w->q[k] = m > 0 ? (int16_t)er_floor(er_times(w->p[k] / m, 32767) + 0.5) : 0;
    square += (uint64_t)((int32_t)w->q[k] * w->q[k]);
  }
  for (int turn = 0; turn < 2; turn++) /* first the largest number, then the tables by it */
    for (uint32_t c = 0; c < s->used; c++) {
      uint8_t *table = w->tables + 64 * (size_t)c, about[8];
      const uint32_t *words;
      memcpy(about, table, 8), words = w->words + 32 * er_16(about);
      for (uint32_t i = 0; i < 32; i++) {
        const int8_t *word = (const int8_t *)s->data + words[i];
        double A = (double)((int64_t)er_16(about + 4) *
                            er_dot(word, w->q + 8 * er_16(about + 2), s->width[er_16(about)]));
        if (!turn && (A < 0 ? -A : A) > most) most = A < 0 ? -A : A;
        if (turn) {
          int32_t t = most > 0 ? (int32_t)er_floor(A * 32767 / most + 0.5) : 0;
          uint8_t *to = table + (i / 16) * 32 + i % 16;
          to[0] = (uint8_t)((uint32_t)t & 255), to[16] = (uint8_t)((uint32_t)t >> 8 & 255);
        }
      }
      if (!turn) w->weights[c + 1] = er_real(table + (by_vector ? 12 : 8));
    }
  if (most > 0) rho = er_root(square) * (32767 / most) * (s->unit * 128);
  w->weights[0] = s->weights[by_vector];
  for (uint32_t c = 0; c <= s->used; c++) w->weights[c] = n ? w->weights[c] / er_root(n) * rho : 0;
  memset(w->filter, 0, 1024), memset(w->masks, 0, 64);
  for (uint32_t i = 0; i < n; i++) {
    er_set(w->filter, w->history[i] & 8191);
    for (uint32_t half = 0; half < 4; half++)
      w->masks[16 * half + (w->history[i] >> 4 * half & 15)] |=
          (uint8_t)(1u << (w->history[i] >> 12 & 7));
  }
}

/* ---- Scores [7] ---- */
static void er_add_plain(const uint8_t *table, const uint8_t *codes, uint32_t n, int32_t *sums) {
  int32_t said[256], t[32];
  for (uint32_t i = 0; i < 32; i++) {
    const uint8_t *low = table + (i / 16) * 32 + i % 16;
    t[i] = (int16_t)(low[0] | low[16] << 8);
  }
  if (n < 256) {
    for (uint32_t i = 0; i < n; i++) sums[i] += t[codes[i] & 15] + t[16 + (codes[i] >> 4)];
    return;
  }
  for (uint32_t i = 0; i < 256; i++) said[i] = t[i & 15] + t[16 + (i >> 4)];
  for (uint32_t i = 0; i < n; i++) sums[i] += said[codes[i]];
}
static void er_add(er_stream *s, const er_column *columns, uint32_t m, uint32_t n, int32_t *sums) {
  uint32_t done = 0;
#if ER_SIMD
  if (s->simd) done = er_add_16(columns, m, n, sums);
#endif
  (void)s;
  for (uint32_t j = 0; done < n && j < m; j++)
    er_add_plain(columns[j].table, columns[j].codes + done, n - done, sums + done);
}
/* What a vote is worth for an item with so many columns. */
static int64_t er_worth(er_stream *s, const er_work *w, uint32_t columns, uint32_t vote) {
  double worth = er_times(w->weights[columns], s->values[vote]);
  return (int64_t)((worth < 1099511627776.0 ? worth : 1099511627776.0) + 0.5);
}
/* Adds the votes of n items, from item i of a chunk on, if few can vote; else adds none, says 0. */
static int er_few(er_stream *s, const er_work *w, const er_chunk *c, uint32_t i, uint32_t n,
                  int64_t *scores) {
  const uint8_t *low = s->data + c->at + i, *high = low + c->count;
  uint32_t k = 0, m = 0, vote;
  uint16_t found[17 + ER_TILE / 16];
  if (s->full < 2) return 0; /* numbers have no two whole bytes */
#if ER_SIMD
  if (s->simd && w->n_history <= 256) {
    uint16_t maybe[ER_TILE / 16];
    er_maybe(w->masks, low, high, n, maybe);
    for (; n - k >= 16; k += 16)
      for (uint32_t some = maybe[k / 16]; some; some &= some - 1) {
        uint32_t j = k + (uint32_t)__builtin_ctz(some);
        if (er_bit(w->filter, low[j] | (high[j] & 31u) << 8)) found[m++] = (uint16_t)j;
        if (m > 16 + k / 16) return 0;
      }
  }
#endif
  for (; k < n; k++)
    if (er_bit(w->filter, low[k] | (high[k] & 31u) << 8)) {
      found[m++] = (uint16_t)k;
      if (m > 16 + k / 16) return 0;
    }
  while (m--) {
    uint32_t j = i + found[m], number = er_neighbour(s, c, j, &vote);
    if (!er_held(w, number)) continue;
    scores[found[m]] += er_worth(s, w, s->state[c->first + j] & 2047u, vote);
  }
  return 1;
}
/* Tables for votes of which many count; they lie where the sums of the tile were. */
#define ER_BLOCK 128u
typedef struct {
  int64_t worth[256];                     /* of a level + a vote */
  uint8_t level[ER_TILE];                 /* of each item: 16 * the place of its columns' number */
  uint16_t low[ER_BLOCK], high[ER_BLOCK]; /* where the history's bits for some neighbours are */
  uint8_t bit[ER_BLOCK], part[ER_BLOCK], code[ER_BLOCK];
} er_many;
/* Finds the levels of a tile's items from `base` on, up to one with a 17th number of columns. */
static uint32_t er_levels(er_stream *s, const er_work *w, const er_tiles *t, uint32_t base,
                          er_many *all) {
  uint32_t has[16], n = 0, at = 0;
  for (uint32_t i = base; i < t->end; i++) {
    uint32_t columns = s->state[i] & 2047u;
    if (!n || has[at] != columns)
      for (at = 0; at < n && has[at] != columns;) at++;
    if (at == 16) return i;
    for (uint32_t v = 0; at == n && v < 16; v++)
      all->worth[16 * at + v] = er_worth(s, w, columns, v);
    if (at == n) has[n++] = columns;
    all->level[i - t->base] = (uint8_t)(16 * at);
  }
  return t->end;
}
#if ER_SIMD
/* Adds the votes of n items, a multiple of 16, from item i, one of 8, of a chunk on, to those from
 * item `to` of the tile on. The first bytes of a row are loaded with some from before it. */
ER_FAST static ER_FOR_16 void er_add_many(er_stream *s, const er_work *w, const er_chunk *c,
                                          uint32_t i, uint32_t n, uint32_t to, er_many *all) {
  static const uint8_t bytes[64] = {
      1,  2,  4,  8,  16, 32, 64, 128, 1,  2,  4,   8,   16,  32, 64, 128, 1,  1,  2,  2,   4,   4,
      8,  8,  16, 16, 32, 32, 64, 64,  128, 128, 14, 14, 14, 14, 14, 14, 14, 14, 15, 15, 15, 15,
      15, 15, 15, 15, 0,  32, 64, 96,  128, 160, 192, 224, 0, 32, 64, 96, 128, 160, 192, 224};
  er_16x8 bits = ER_LOAD(bytes), pairs = ER_LOAD(bytes + 16);
  er_16x8 spread = ER_LOAD(bytes + 32), times_32 = ER_LOAD(bytes + 48);
  uint32_t wide = 8u * s->full + s->rest > 19;
  for (uint32_t k = 0; k < n; k += 16) {
    const uint8_t *p = s->data + c->at;
    er_16x8 rows[4] = {ER_ALL(0), ER_ALL(0), ER_ALL(0), ER_ALL(0)};
    for (uint32_t f = 0; f < s->full; f++, p += c->count) rows[f] = ER_LOAD(p + i + k);
    for (uint32_t r = 0; r < s->rest; r++, p += (c->count + 7) / 8) {
      er_16x8 x = ER_LOOK(ER_LOAD(p + (i + k) / 8 - 14), spread);
      rows[s->full] |= ER_SAME(x & bits, bits) & ER_ALL((char)(1u << r));
    }
    er_16x8 votes = ER_LOAD(p + (i + k) / 2 - 8), vote[2] = {ER_ZIP(ER_LOW(votes), ER_HIGH(votes))};
    er_16x8 second = (rows[1] & ER_ALL(31)) | ER_LOOK(times_32, ER_LOW(rows[2]));
    er_16x8 low[2] = {ER_ZIP(rows[0], second)}, high[2] = {ER_ZIP(rows[2], rows[3])};
    ER_STORE(all->code + k, vote[1]), ER_STORE(all->bit + k, ER_LOOK(pairs, ER_HIGH(rows[1])));
    ER_STORE(all->low + k, low[0]), ER_STORE(all->low + k + 8, low[1]);
    if (wide) ER_STORE(all->high + k, high[0]), ER_STORE(all->high + k + 8, high[1]);
  }
  for (uint32_t k = 0; wide && k < n; k++)
    all->part[k] = w->held[all->low[k] | (uint32_t)all->high[k] >> 3 << 16];
  for (uint32_t k = 0; !wide && k < n; k++) all->part[k] = w->held[all->low[k]];
  for (uint32_t k = 0; k < n; k += 16) {
    er_16x8 bit = ER_LOAD(all->bit + k), hit = ER_SAME(ER_LOAD(all->part + k) & bit, bit);
    ER_STORE(all->code + k, (hit & ER_LOAD(all->code + k)) | ER_LOAD(all->level + to + k));
  }
  for (uint32_t k = 0; k < n; k++) w->scores[to + k] += all->worth[all->code[k]];
}
#endif

/* The same for any of a chunk's items, ER_BLOCK at most. */
ER_FAST static void er_add_some(er_stream *s, const er_work *w, const er_chunk *c, uint32_t i,
                                uint32_t n, uint32_t to, const er_many *all) {
  const uint8_t *p = s->data + c->at;
  uint32_t numbers[ER_BLOCK + 8], skip = i % 8, *number = numbers + skip;
  memset(numbers, 0, sizeof numbers);
  for (uint32_t f = 0; f < s->full; f++, p += c->count)
    for (uint32_t k = 0; k < n; k++) number[k] |= (uint32_t)p[i + k] << 8 * f;
  for (uint32_t r = 8 * s->full; r < 8u * s->full + s->rest; r++, p += (c->count + 7) / 8)
    for (uint32_t k = 0; k < skip + n; k += 8)
      for (uint32_t j = 0; j < 8; j++) numbers[k + j] |= (p[(i - skip + k) / 8] >> j & 1u) << r;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t j = i + k, vote = (uint32_t)p[j / 2] >> 4 * (j & 1) & 15;
    vote &= 0u - er_held(w, number[k]), w->scores[to + k] += all->worth[all->level[to + k] | vote];
  }
}
/* Adds the votes of a tile; chunks in which many count are moved to the front. */
static void er_votes(er_stream *s, const er_work *w, const er_tiles *t) {
  er_many *all = (er_many *)(void *)w->sums;
  uint32_t n, from, many = 0;
  for (uint32_t i = 0; i < t->n_active; i++) {
    uint32_t at = t->active[i];
    er_chunk c = er_chunk_at(s->data, at);
    n = c.kind == 4 ? er_overlap(&c, t->base, t->end, &from) : 0;
    if (n && !er_few(s, w, &c, from - c.first, n, w->scores + (from - t->base)))
      t->active[i] = t->active[many], t->active[many++] = at;
  }
  for (uint32_t base = t->base, end; many && base < t->end; base = end) {
    end = er_levels(s, w, t, base, all);
    for (uint32_t i = 0; i < many; i++) {
      er_chunk c = er_chunk_at(s->data, t->active[i]);
      for (uint32_t left = er_overlap(&c, base, end, &from); left; left -= n, from += n) {
        uint32_t at = from - c.first, simd = ER_SIMD && s->simd && at % 8 == 0 && left >= 16;
        n = left < ER_BLOCK ? left : ER_BLOCK;
        if (s->simd && at % 8 && n > 8 - at % 8) n = 8 - at % 8;
#if ER_SIMD
        if (simd) er_add_many(s, w, &c, at, n &= ~15u, from - t->base, all);
#endif
        if (!simd) er_add_some(s, w, &c, at, n, from - t->base, all);
      }
    }
  }
}
static void er_score_tile(er_stream *s, const er_work *w, const er_tiles *t) {
  uint32_t n = t->end - t->base, from, m = 0;
  er_column columns[8]; /* those of all items of the tile; so many are added at once */
  memset(w->sums, 0, 4 * (size_t)n);
  for (uint32_t i = 0; i < t->n_active; i++) {
    er_chunk c = er_chunk_at(s->data, t->active[i]);
    uint32_t count = c.kind == 3 ? er_overlap(&c, t->base, t->end, &from) : 0;
    er_column *next = columns + m;
    if (!count) continue;
    next->table = w->tables + 64 * (size_t)c.which, next->codes = s->data + c.at + (from - c.first);
    for (uint32_t k = 0; k < count; k += 64) ER_SOON(next->codes + k);
    if (count < n) er_add(s, next, 1, count, w->sums + (from - t->base));
    else if (++m == 8) er_add(s, columns, m, n, w->sums), m = 0;
  }
  er_add(s, columns, m, n, w->sums);
  for (uint32_t i = 0; i < n; i++) w->scores[i] = (int64_t)w->sums[i] * s->gain[t->base + i];
  if (w->n_history) er_votes(s, w, t);
}

/* ---- The list [8] ---- */
static int er_less(const void *unused, uint32_t a, uint32_t b) { return (void)unused, a < b; }
static int er_has(const uint32_t *sorted, size_t n, uint32_t number) {
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (sorted[middle] < number) low = middle + 1;
    else high = middle;
  }
  return low < n && sorted[low] == number;
}
/* Whether an item is listed before another one. */
static int er_listed(const void *items, uint32_t i, uint32_t j) {
  const er_item *a = (const er_item *)items + i, *b = (const er_item *)items + j;
  return a->score > b->score || (a->score == b->score && a->item < b->item);
}
/* Keeps the k best items of a tile and of those before it, as a heap with the worst on top. */
static uint32_t er_keep(er_stream *s, const er_work *w, const er_tiles *t, int only, uint32_t k,
                        uint32_t n) {
  for (uint32_t i = t->base; i < t->end; i++) {
    int64_t score = w->scores[i - t->base];
    elasticrec_item item = {0, 0, ELASTICREC_NONE, 0};
    if (n == k && score <= w->found[w->place[0]].score) continue; /* equal ones come later */
    if (s->state[i] >> 15 || !((s->state[i] & 2047u) | (s->slots[i] & 127u))) continue;
    if (er_has(w->hidden, w->n_hidden, i) || (only && !er_has(w->only, w->n_only, i))) continue;
    item.score = score, item.item = i;
    if (n < k) {
      w->place[n] = n, w->found[n++] = item;
      if (n == k)
        for (uint32_t j = n / 2; j-- > 0;) er_sink(w->place, n, j, er_listed, w->found);
    } else {
      w->found[w->place[0]] = item;
      er_sink(w->place, n, 0, er_listed, w->found);
    }
  }
  return n;
}
/* Names the neighbour in the first slot of each listed item that votes. */
static void er_name(er_stream *s, const er_work *w, er_item *items, uint32_t n) {
  for (uint32_t j = s->starts[3]; j < s->n_sorted; j++) {
    er_chunk c = er_chunk_at(s->data, s->chunks[j]);
    for (uint32_t i = 0; c.kind == 4 && i < n; i++) {
      uint32_t at = items[i].item - c.first, number, vote;
      if (at >= c.count || (items[i].why != ELASTICREC_NONE && items[i].slot < c.which)) continue;
      number = er_neighbour(s, &c, at, &vote);
      if (vote && er_held(w, number)) items[i].why = number, items[i].slot = c.which;
    }
  }
}
/* Of n candidates lists k that differ from those above them, too. */
static uint32_t er_vary(er_stream *s, const er_work *w, er_question *ask, uint32_t n,
                        er_item *items) {
  uint32_t D = 8 * s->n_blocks, k = 0;
  int64_t low = w->found[w->place[n - 1]].score, span = w->found[w->place[0]].score - low;
  for (uint32_t j = 0; j < n; j++) w->left[j] = w->found[w->place[j]].item, w->near[j] = 0;
  er_place(s, w); /* where the tables were, which are not needed any more */
  er_decode_all(s, w, w->left, n, w->y);
  for (uint32_t j = 0; j < n; j++) w->lengths[j] = er_root(er_square(w->y + (size_t)j * D, D));
  for (; k < ask->k && k < n; k++) {
    const int32_t *x, *y = w->y;
    double best = -9;
    uint32_t one = 0;
    for (uint32_t j = 0; j < n; j++) {
      double r = (double)(w->found[w->place[j]].score - low) / (double)(span > 1 ? span : 1);
      double worth = er_times(1 - ask->diversity, r) - er_times(ask->diversity, w->near[j]);
      if (w->left[j] != ELASTICREC_NONE && worth > best) best = worth, one = j;
    }
    items[k] = w->found[w->place[one]], w->left[one] = ELASTICREC_NONE, x = y + (size_t)one * D;
    for (uint32_t j = 0; j < n; j++, y += D) {
      double both = er_times(w->lengths[j], w->lengths[one]), dot = 0;
      for (uint32_t i = 0; i < D; i++) dot += (double)x[i] * y[i]; /* exact */
      dot /= both > 1 ? both : 1;
      if (dot > w->near[j]) w->near[j] = dot;
    }
  }
  return k;
}
size_t elasticrec_question_bytes(er_stream *s, er_question *ask) {
  er_work w;
  return er_divide(&w, NULL, s->n_books, s->n_columns, s->most, s->n_blocks, s->n_items, ask);
}
int elasticrec_recommend(er_stream *s, er_question *ask, void *work, size_t work_bytes,
                         er_item *items, elasticrec_answer *answer, er_error *error) {
  er_work w;
  er_tiles t = {0, 0, s->starts[3], 0, NULL};
  size_t needed = elasticrec_question_bytes(s, ask);
  uint32_t n = 0, most = ask->k;
  if (!(ask->diversity >= 0 && ask->diversity <= 1))
    return er_refuse(error, "diversity within 0 to 1", 0, 1, 1);
  answer->listed = answer->unknown = 0;
  ER_ENOUGH("work memory", work_bytes, needed);
  er_divide(&w, work, s->n_books, s->n_columns, s->most, s->n_blocks, s->n_items, ask);
  ER_TRY(er_resolve(s, ask->history, ask->n_history, w.held, w.order, w.history, error));
  ER_TRY(er_resolve(s, ask->exclude, ask->n_exclude, w.held, w.order, w.hidden, error));
  w.n_only = ask->only ? ask->n_only : 0;
  ER_TRY(er_resolve(s, ask->only, w.n_only, w.held, w.order, w.only, error));
  for (size_t i = 0; i < ask->n_history; i++) answer->unknown += w.history[i] == ELASTICREC_NONE;
  er_distinct(s, &w, ask->n_history), w.n_hidden = ask->n_exclude;
  for (uint32_t i = 0; !ask->repeat && i < w.n_history; i++) w.hidden[w.n_hidden++] = w.history[i];
  er_sort(w.hidden, w.n_hidden, er_less, NULL), er_sort(w.only, w.n_only, er_less, NULL);
  er_place(s, &w), t.active = w.active;
  if (ask->vector) ER_TRY(er_vector(s, &w, (const uint8_t *)ask->vector, ask->vector_bytes, error));
  else er_history(s, &w);
  er_person(s, &w, ask->vector != NULL);
  if (ask->diversity > 0) most = (uint64_t)5 * most < s->n_items ? 5 * most : s->n_items;
  while (ask->k && er_next_tile(s, &t)) {
    er_score_tile(s, &w, &t);
    n = er_keep(s, &w, &t, ask->only != NULL, most, n);
  }
  er_sort(w.place, n, er_listed, w.found);
  if (ask->diversity > 0 && n) n = er_vary(s, &w, ask, n, items);
  else for (uint32_t i = 0; i < n; i++) items[i] = w.found[w.place[i]];
  if (ask->why) er_name(s, &w, items, n);
  answer->listed = n;
  return ELASTICREC_OK;
}
int elasticrec_similar(er_stream *s, elasticrec_id id, uint32_t k, void *work, size_t work_bytes,
                       er_item *items, elasticrec_answer *answer, er_error *error) {
  elasticrec_question ask;
  memset(&ask, 0, sizeof ask), ask.history = &id, ask.n_history = 1, ask.k = k;
  ER_TRY(elasticrec_recommend(s, &ask, work, work_bytes, items, answer, error));
  return answer->unknown ? ELASTICREC_UNKNOWN : ELASTICREC_OK;
}
/* In a form, digits stand for the numbers of an error, and W for its words. */
size_t elasticrec_explain(const er_error *e, char *text, size_t size) {
  const uint64_t numbers[4] = {e->chunk, e->found, e->low, e->high};
  const char *form = &"chunk 0: W: found 1, expected 2"[e->chunk == ELASTICREC_NONE ? 9 : 0];
  size_t at = 0;
  for (int turn = 0; turn < 2; turn++) {
    for (; *form; form++) {
      char digits[21] = {0}, *more = digits + 19;
      uint64_t n = *form >= '0' && *form <= '3' ? numbers[*form - '0'] : 0;
      *more = *form >= '0' && *form <= '3' ? (char)('0' + n % 10) : *form;
      while (n /= 10) *--more = (char)('0' + n % 10);
      for (const char *c = *form == 'W' ? e->what : more; *c; c++, at++)
        if (at + 1 < size) text[at] = *c;
    }
    form = e->high >= (size_t)-1 ? " or more" : e->high != e->low ? " to 3" : "";
  }
  if (size) text[at < size ? at : size - 1] = 0;
  return at;
}
#endif /* ELASTICREC_IMPLEMENTATION */
