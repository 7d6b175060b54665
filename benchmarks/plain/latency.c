/* Milliseconds of questions to a file: latency ours FILE ROUNDS, or latency rule FILE ROUNDS THREADS.
 *
 * `ours` is a stream, asked through elasticrec.h. `rule` is what RULE keeps (Eq. 2): for each group its
 * number of items and the mask of its blocks, then the blocks of its items as floats; threads share the
 * items; the first three of the last list go to stderr. Both list the 100 best items, and each
 * question comes from another person. */
#define ELASTICREC_IMPLEMENTATION
#include "../../device/c/elasticrec.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#define TOP 100
#define HISTORY 45
#define MOST_GROUPS 64
#define BLOCK 8

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static uint32_t seed = 1;
static uint32_t drawn(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)seed * n) >> 32);
}

static int ours(const uint8_t *data, size_t size, int rounds) {
  elasticrec_sizes sizes;
  elasticrec_error error;
  elasticrec_stream stream;
  elasticrec_item items[TOP];
  void *work;
  if (elasticrec_size(data, size, size, &sizes, &error)) return 2;
  work = malloc(sizes.work);
  if (elasticrec_open(&stream, data, size, NULL, 0, malloc(sizes.stream), sizes.stream, work,
                      sizes.work, &error))
    return 2;
  free(work);
  for (int round = 0; round < rounds; round++) {
    elasticrec_id history[HISTORY];
    elasticrec_question question;
    elasticrec_answer answer;
    double start = milliseconds();
    size_t bytes;
    void *room;
    memset(&question, 0, sizeof question);
    for (int i = 0; i < HISTORY; i++) {
      history[i].text = NULL;
      history[i].number = drawn(stream.n_items);
    }
    question.history = history, question.n_history = HISTORY, question.k = TOP;
    bytes = elasticrec_question_bytes(&stream, &question);
    room = malloc(bytes);
    if (!room || elasticrec_recommend(&stream, &question, room, bytes, items, &answer, &error))
      return 3;
    free(room);
    printf("%.4f ", milliseconds() - start);
  }
  return 0;
}

typedef struct {
  const float *items;
  uint32_t n, width, first;
  float user[BLOCK * 64];
} group;

typedef struct {
  group *groups;
  uint32_t n_groups, part, parts;
  float score[TOP];
  uint32_t item[TOP], n;
} share;

/* Put an item where it belongs in a heap whose root is the worst. */
static void sink(share *s, uint32_t i) {
  for (;;) {
    uint32_t least = i, left = 2 * i + 1;
    for (uint32_t j = left; j < left + 2 && j < s->n; j++)
      if (s->score[j] < s->score[least]) least = j;
    if (least == i) return;
    float score = s->score[i];
    uint32_t item = s->item[i];
    s->score[i] = s->score[least], s->item[i] = s->item[least];
    s->score[least] = score, s->item[least] = item, i = least;
  }
}

static void *rank(void *some) {
  share *s = (share *)some;
  s->n = 0;
  for (uint32_t g = 0; g < s->n_groups; g++) {
    group *at = s->groups + g;
    uint32_t start = (uint32_t)((uint64_t)at->n * s->part / s->parts);
    uint32_t stop = (uint32_t)((uint64_t)at->n * (s->part + 1) / s->parts);
    for (uint32_t i = start; i < stop; i++) {
      const float *item = at->items + (size_t)i * at->width;
      float score = 0;
      for (uint32_t k = 0; k < at->width; k++) score += item[k] * at->user[k];
      if (s->n < TOP) {
        s->score[s->n] = score, s->item[s->n++] = at->first + i;
        if (s->n == TOP)
          for (uint32_t j = TOP / 2; j-- > 0;) sink(s, j);
      } else if (score > s->score[0]) {
        s->score[0] = score, s->item[0] = at->first + i, sink(s, 0);
      }
    }
  }
  return NULL;
}

typedef struct {
  float score;
  uint32_t item;
} listed;

static int by_score(const void *a, const void *b) {
  float x = ((const listed *)a)->score, y = ((const listed *)b)->score;
  return x < y ? 1 : x > y ? -1 : 0;
}

static int rule(const uint8_t *data, int rounds, int threads) {
  static group groups[MOST_GROUPS];
  static share shares[8];
  const uint32_t *head = (const uint32_t *)data;
  uint32_t n_groups = head[0], n_blocks = head[1], widest = 0, first = 0;
  const float *at = (const float *)(head + 2 + 2 * n_groups);
  if (n_groups > MOST_GROUPS || threads > 8) return 2;
  for (uint32_t g = 0; g < n_groups; g++) {
    uint32_t width = (uint32_t)__builtin_popcount(head[3 + 2 * g]);
    groups[g].n = head[2 + 2 * g], groups[g].width = BLOCK * width, groups[g].items = at;
    groups[g].first = first, first += groups[g].n, at += (size_t)groups[g].n * BLOCK * width;
    widest = width > widest ? width : widest;
  }
  for (int round = 0; round < rounds; round++) {
    float user[BLOCK * 32];
    listed best[8 * TOP];
    pthread_t running[8];
    double start = milliseconds();
    uint32_t n = 0;
    for (uint32_t k = 0; k < BLOCK * n_blocks; k++) user[k] = (float)drawn(1000) / 500 - 1;
    for (uint32_t g = 0; g < n_groups; g++) {
      uint32_t mask = head[3 + 2 * g], to = 0;
      float scale = (float)(BLOCK * widest) / (float)groups[g].width;
      for (uint32_t b = 0; b < n_blocks; b++)
        if (mask >> b & 1)
          for (int k = 0; k < BLOCK; k++) groups[g].user[to++] = scale * user[BLOCK * b + k];
    }
    for (int t = 0; t < threads; t++) {
      shares[t].groups = groups, shares[t].n_groups = n_groups;
      shares[t].part = (uint32_t)t, shares[t].parts = (uint32_t)threads;
      if (t && pthread_create(running + t, NULL, rank, shares + t)) return 3;
    }
    rank(shares);
    for (int t = 0; t < threads; t++) {
      if (t) pthread_join(running[t], NULL);
      for (uint32_t i = 0; i < shares[t].n; i++, n++)
        best[n].score = shares[t].score[i], best[n].item = shares[t].item[i];
    }
    qsort(best, n, sizeof *best, by_score);
    printf("%.4f ", milliseconds() - start);
    if (round == rounds - 1)
      for (int i = 0; i < 3; i++) fprintf(stderr, "%lu ", (unsigned long)best[i].item);
  }
  return 0;
}

int main(int n, char **words) {
  struct stat about;
  int file = n > 3 ? open(words[2], O_RDONLY) : -1;
  const uint8_t *data;
  if (file < 0 || fstat(file, &about)) return 2;
  data = (const uint8_t *)mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, file, 0);
  if (data == (const uint8_t *)MAP_FAILED) return 4;
  if (!strcmp(words[1], "ours")) return ours(data, (size_t)about.st_size, atoi(words[3]));
  return rule(data, atoi(words[3]), atoi(words[4]));
}
