/* libFuzzer: any bytes are refused or answered, plain and by SIMD alike; checksums are made right.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all fuzz.c -o fuzz
 *     ./fuzz -runs=1000000 -max_len=4096 CORPUS ../../conformance
 *
 * The last bytes say where the stream is cut at first, and what is asked.
 */
#define ELASTICREC_IMPLEMENTATION
#include "../elasticrec.h"

#include <stdlib.h>

static void need(int what) {
  if (!what) abort();
}

static void put_32(uint8_t *p, uint32_t x) {
  for (int i = 0; i < 4; i++) p[i] = (uint8_t)(x >> 8 * i & 255);
}

/* Makes the checksums right, as far as there are whole chunks. */
static void seal(uint8_t *data, size_t size) {
  size_t at = size < 12 ? size + 1 : ER_HEAD(er_16(data + 10));
  if (at > size || at > ER_HEAD(64)) return;
  put_32(data + at - 4, er_crc(0, data, at - 4, NULL));
  while (size - at >= 32 && er_32(data + at) <= size - at - 32) {
    size_t length = 32 + (size_t)er_32(data + at);
    put_32(data + at + 16, 0);
    put_32(data + at + 16, er_crc(0, data + at, length, NULL));
    at += length;
  }
}

/* Asks, by SIMD and without, and checks what every list must be. */
static void ask(elasticrec_stream *stream, const uint8_t *taste) {
  elasticrec_id ids[6];
  elasticrec_question question;
  elasticrec_error error;
  elasticrec_answer answer[2];
  elasticrec_item items[2][9];
  uint8_t best = stream->simd;
  size_t size;
  void *work;
  memset(&question, 0, sizeof question);
  for (int i = 0; i < 6; i++) {
    ids[i].text = stream->id_kind == 3 ? "odd" : NULL, ids[i].number = taste[i] % 3;
    if (stream->n_ids || !stream->id_kind)
      (void)elasticrec_id_of(stream, taste[i] % stream->n_items, ids + i);
  }
  question.history = ids, question.n_history = taste[6] % 5u;
  question.exclude = ids + 3, question.n_exclude = taste[6] / 5u % 3u;
  question.only = taste[6] & 128 ? ids + 1 : NULL, question.n_only = 5;
  question.k = taste[7] % 10u, question.repeat = taste[7] & 16, question.why = taste[7] & 32;
  if (taste[7] & 64) question.diversity = (taste[6] % 9u - 0.5) / 7; /* some are refused */
  size = elasticrec_question_bytes(stream, &question);
  need((work = malloc(size)) != NULL);
  for (int turn = 0; turn < 2; turn++) {
    stream->simd = turn ? 0 : best;
    if (elasticrec_recommend(stream, &question, work, size, items[turn], answer + turn, &error)) {
      char why[120];
      need(elasticrec_explain(&error, why, sizeof why) > 10);
      answer[turn].listed = ELASTICREC_NONE;
    }
  }
  stream->simd = best;
  need(answer[0].listed == answer[1].listed);
  for (uint32_t i = 0; answer[0].listed != ELASTICREC_NONE && i < answer[0].listed; i++) {
    elasticrec_id id;
    need(items[0][i].item == items[1][i].item && items[0][i].score == items[1][i].score);
    need(items[0][i].why == items[1][i].why && i < question.k);
    need(!i || question.diversity > 0 || er_listed(items[0], i - 1, i));
    need(elasticrec_id_of(stream, items[0][i].item, &id) == ELASTICREC_OK);
  }
  free(work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static elasticrec_stream stream;
  elasticrec_sizes sizes;
  elasticrec_error error;
  uint8_t taste[10] = {0}, *bytes, *first, *memory, *work;
  size_t cut;
  if (!size) return 0;
  memcpy(taste, data + size - (size < 10 ? size : 10), size < 10 ? size : 10);
  need((bytes = (uint8_t *)malloc(size + !size)) != NULL);
  memcpy(bytes, data, size);
  seal(bytes, size);
  cut = taste[8] & 1 ? size : size * taste[9] / 256;
  need((first = (uint8_t *)malloc(cut + !cut)) != NULL); /* nothing behind the cut can be read */
  memcpy(first, bytes, cut);
  if (elasticrec_size(first, cut, size, &sizes, &error) == ELASTICREC_OK) {
    need(sizes.stream <= 5 * size + 8192 && sizes.work < 200000);
    need((memory = (uint8_t *)malloc(sizes.stream)) != NULL);
    need((work = (uint8_t *)malloc(sizes.work)) != NULL);
    if (elasticrec_open(&stream, first, cut, NULL, 0, memory, sizes.stream, work, sizes.work,
                        &error) == ELASTICREC_OK) {
      ask(&stream, taste);
      if (cut < size) {
        (void)elasticrec_refresh(&stream, bytes, size, work, sizes.work, &error);
        ask(&stream, taste);
      }
      (void)elasticrec_withdraw(&stream, data, size, &error);
    }
    free(memory), free(work);
  }
  free(bytes), free(first);
  return 0;
}
