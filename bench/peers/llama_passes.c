// SPDX-License-Identifier: Apache-2.0
// A model in llama.cpp, for bench/llm_beside_ggml.py:
//
//   llama_passes MODEL THREADS logits IDS            the logits after the ids (1,15,27), one a line
//   llama_passes MODEL THREADS seconds CONTEXT IDS   time of a token after CONTEXT ids (median of nine),
//                                                    then of the ids as a prompt (median of three)
//
// Exits with 1 and a message if llama.cpp fails.
#include <llama.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void fail(const char* what) {
  fprintf(stderr, "llama_passes: %s\n", what);
  exit(1);
}

static void be_quiet(enum ggml_log_level level, const char* text, void* unused) {
  (void)unused;
  if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static size_t parse(char* text, llama_token* ids, size_t room) {
  size_t count = 0;
  for (char* word = strtok(text, ","); word != NULL && count < room; word = strtok(NULL, ","))
    ids[count++] = (llama_token)atoi(word);
  if (count == 0) fail("no ids");
  return count;
}

static void pass(struct llama_context* context, llama_token* ids, size_t count) {
  if (llama_decode(context, llama_batch_get_one(ids, (int32_t)count)) != 0) fail("llama_decode failed");
  llama_get_logits_ith(context, -1);  // waits for pending work
}

static double seconds_of(struct llama_context* context, size_t before, llama_token* ids, size_t count) {
  llama_memory_seq_rm(llama_get_memory(context), 0, (llama_pos)before, -1);
  struct timespec start, stop;
  clock_gettime(CLOCK_MONOTONIC, &start);
  pass(context, ids, count);
  clock_gettime(CLOCK_MONOTONIC, &stop);
  return (double)(stop.tv_sec - start.tv_sec) + 1e-9 * (double)(stop.tv_nsec - start.tv_nsec);
}

static int compare(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

static double median_of(struct llama_context* context, size_t before, llama_token* ids, size_t count,
                        size_t times) {
  double all[16];
  for (size_t i = 0; i < times; ++i) all[i] = seconds_of(context, before, ids, count);
  qsort(all, times, sizeof *all, compare);
  return all[times / 2];
}

int main(int argc, char** argv) {
  static llama_token ids[1 << 15];
  const size_t room = sizeof ids / sizeof *ids;
  if (argc < 5) fail("MODEL THREADS logits IDS, or MODEL THREADS seconds CONTEXT IDS");
  const int is_timed = strcmp(argv[3], "seconds") == 0;
  const size_t before = is_timed ? (size_t)atol(argv[4]) : 0;
  if (before >= room || (is_timed && argc < 6)) fail("too long a context, or no ids");
  const size_t count = parse(argv[is_timed ? 5 : 4], ids, room);
  llama_log_set(be_quiet, NULL);
  struct llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == NULL) fail("the model is not read");
  struct llama_context_params params = llama_context_default_params();
  const size_t most = before > count ? before : count;
  params.n_ctx = (uint32_t)(most + 64);
  params.n_batch = (uint32_t)most;  // the whole prompt in one batch
  params.n_threads = params.n_threads_batch = atoi(argv[2]);
  struct llama_context* context = llama_init_from_model(model, params);
  if (context == NULL) fail("no context");
  pass(context, ids, count);  // warm-up
  if (!is_timed) {
    const float* logits = llama_get_logits_ith(context, -1);
    const int32_t vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    for (int32_t i = 0; i < vocab; ++i) printf("%.9g\n", (double)logits[i]);
    return 0;
  }
  llama_memory_clear(llama_get_memory(context), 1);
  static llama_token filler[1 << 15];
  for (size_t i = 0; i < before; ++i) filler[i] = ids[i % count];
  if (before > 0) pass(context, filler, before);
  printf("%.9g\n", median_of(context, before, ids, 1, 9));
  printf("%.9g\n", median_of(context, 0, ids, count, 3));
  return 0;
}
