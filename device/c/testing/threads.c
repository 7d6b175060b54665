/* Eight threads ask one stream, each in memory of its own, and get what one gets: threads FILE. */
#define ELASTICREC_IMPLEMENTATION
#include "../elasticrec.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 8
#define QUESTIONS 40
#define TOP 20

static elasticrec_stream stream;
static elasticrec_item expected[QUESTIONS][TOP];

/* The list of a question, which its number makes. */
static void ask(int number, elasticrec_item *items) {
  elasticrec_question question;
  elasticrec_answer answer;
  elasticrec_id ids[3];
  size_t size;
  void *work;
  memset(&question, 0, sizeof question);
  memset(items, 0, TOP * sizeof *items);
  for (int i = 0; i < 3; i++)
    (void)elasticrec_id_of(&stream, (uint32_t)(number * 7 + i) % stream.n_items, ids + i);
  question.history = ids, question.n_history = (size_t)number % 4;
  question.diversity = number % 5 ? 0 : 0.5, question.k = TOP, question.why = 1;
  size = elasticrec_question_bytes(&stream, &question);
  if (!(work = malloc(size)) ||
      elasticrec_recommend(&stream, &question, work, size, items, &answer, NULL))
    exit(3);
  free(work);
}

static void *many(void *first) {
  static char wrong;
  elasticrec_item items[TOP];
  for (int i = 0; i < QUESTIONS; i++) {
    int number = (i + *(int *)first) % QUESTIONS;
    ask(number, items);
    for (int j = 0; j < TOP; j++)
      if (items[j].item != expected[number][j].item || items[j].score != expected[number][j].score)
        return &wrong;
  }
  return NULL;
}

int main(int n, char **words) {
  FILE *file = n == 2 ? fopen(words[1], "rb") : NULL;
  uint8_t *bytes = (uint8_t *)malloc(1 << 20);
  size_t size = file && bytes ? fread(bytes, 1, 1 << 20, file) : 0;
  elasticrec_sizes sizes;
  elasticrec_error error;
  pthread_t threads[THREADS];
  int firsts[THREADS], failed = 0;
  void *memory, *work;
  if (!size || elasticrec_size(bytes, size, size, &sizes, &error)) return 2;
  memory = malloc(sizes.stream), work = malloc(sizes.work);
  if (!memory || !work) return 2;
  if (elasticrec_open(&stream, bytes, size, NULL, 0, memory, sizes.stream, work, sizes.work, &error))
    return 2;
  for (int i = 0; i < QUESTIONS; i++) ask(i, expected[i]);
  for (int i = 0; i < THREADS; i++) {
    firsts[i] = 5 * i;
    if (pthread_create(threads + i, NULL, many, firsts + i)) return 2;
  }
  for (int i = 0; i < THREADS; i++) {
    void *wrong;
    failed |= pthread_join(threads[i], &wrong) || wrong;
  }
  free(bytes), free(memory), free(work), fclose(file);
  return failed;
}
