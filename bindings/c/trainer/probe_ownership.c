/* Probes of the ownership axis: accessors, copies, release orders, mistakes with ids. */
#include <stdio.h>
#include <string.h>

#include "order.h"
#include "probe.h"

static const float FOUR[4] = {1, 2, 3, 4};

/* Read four numbers as "1 2 3 4". */
static hxp_status read_four(hxp_tensor tensor, char out[64]) {
  float values[4] = {0};
  hxp_status status = hxp_tensor_read(tensor, values, sizeof values, NULL);
  if (status != HXP_OK) snprintf(out, 64, "%s", status_text(status));
  else snprintf(out, 64, "%g %g %g %g", (double)values[0], (double)values[1], (double)values[2], (double)values[3]);
  return status;
}

/* The first value that differs from `expected` stays. */
static void note(char kept[64], const char *seen, const char *expected) {
  if (kept[0] == 0 || strcmp(kept, expected) == 0) snprintf(kept, 64, "%s", seen);
}

static bool make_four(hxp_context context, hxp_tensor *out, failure *f) {
  hxp_error error = no_error();
  return tensor_of(context, 4, 0, out, f) && check(f, hxp_tensor_write(*out, FOUR, sizeof FOUR, &error), &error, "write");
}

/* One round of case C1; `t` stands for the parent's own share. */
static bool access_once(hxp_context context, char value[64], status_list *statuses, failure *f) {
  hxp_tensor t, a, b, c;
  hxp_error error = no_error();
  char seen[64];
  const int64_t square[2] = {2, 2};
  if (!make_four(context, &t, f)) return false;
  if (!check(f, hxp_tensor_retain(t, &a, &error), &error, "get") || !check(f, hxp_tensor_retain(t, &b, &error), &error, "get")) return false;
  status_add(statuses, hxp_tensor_release(a, NULL));
  status_add(statuses, hxp_tensor_release(b, NULL));
  read_four(t, seen);
  note(value, seen, "1 2 3 4");
  if (!check(f, hxp_reshape(0, t, 2, square, &c, &error), &error, "reshape")) return false;
  status_add(statuses, hxp_tensor_release(c, NULL));
  read_four(t, seen);
  note(value, seen, "1 2 3 4");
  status_add(statuses, hxp_tensor_release(t, NULL));
  return true;
}

static bool copy_once(hxp_context context, char value[64], status_list *statuses, failure *f) {
  hxp_tensor a, b, c, sum;
  hxp_error error = no_error();
  float total = 0;
  char seen[64];
  if (!make_four(context, &a, f)) return false;
  if (!check(f, hxp_tensor_retain(a, &c, &error), &error, "copy") || !check(f, hxp_tensor_retain(a, &b, &error), &error, "copy")) return false;
  status_add(statuses, hxp_tensor_release(a, NULL));
  if (!check(f, hxp_reduce_sum(0, b, 0, &sum, &error), &error, "sum")) return false;
  if (!check(f, hxp_tensor_read(sum, &total, sizeof total, &error), &error, "sum")) return false;
  status_add(statuses, hxp_tensor_release(sum, NULL));
  if (!check(f, hxp_tensor_add_in_place(b, 1, &error), &error, "add")) return false;
  if (total == 10) read_four(c, seen);
  else snprintf(seen, sizeof seen, "sum %g", (double)total);
  note(value, seen, "2 3 4 5");
  status_add(statuses, hxp_tensor_release(b, NULL));
  status_add(statuses, hxp_tensor_release(c, NULL));
  return true;
}

static bool repeated(probe *p, bool (*once)(hxp_context, char *, status_list *, failure *), failure *f) {
  int64_t repeats;
  hxp_context context;
  char value[64] = "";
  status_list statuses = {0};
  bool good = true;
  if (!parameter(p, "repeats", 1, &repeats, f) || !probe_context(p, &context, f)) return false;
  for (int64_t i = 0; good && i < repeats; i++) good = once(context, value, &statuses, f);
  status_add(&statuses, hxp_context_release(context, NULL));
  seen_text(p, "value", value);
  seen_statuses(p, "statuses", &statuses);
  return good;
}

bool probe_accessors(probe *p, failure *f) { return repeated(p, access_once, f); }

bool probe_copies(probe *p, failure *f) { return repeated(p, copy_once, f); }

typedef hxp_status (*release_one)(uint64_t id, hxp_error *error);

/* The five owners of `drop_orders`: context, tensor, its second owner, a tape that watches it, a view recorded on the tape. */
static bool make_family(const probe *p, uint64_t ids[5], failure *f) {
  const int64_t square[2] = {2, 2};
  hxp_error error = no_error();
  return probe_context(p, &ids[0], f) && make_four(ids[0], &ids[1], f) &&
         check(f, hxp_tensor_retain(ids[1], &ids[2], &error), &error, "retain") &&
         check(f, hxp_tape_create(ids[0], &ids[3], &error), &error, "tape") &&
         check(f, hxp_tape_watch(ids[3], ids[1], 0, &error), &error, "watch") &&
         check(f, hxp_reshape(ids[3], ids[1], 2, square, &ids[4], &error), &error, "reshape");
}

bool probe_drop_orders(probe *p, failure *f) {
  static const release_one release[5] = {hxp_context_release, hxp_tensor_release, hxp_tensor_release, hxp_tape_release, hxp_tensor_release};
  int64_t seed, orders, failed = 0;
  if (!parameter(p, "seed", 0, &seed, f) || !parameter(p, "orders", 1, &orders, f)) return false;
  for (int64_t i = 0; i < orders; i++) {
    balance before = balance_now();
    uint64_t ids[5];
    int64_t order[5];
    bool all_good = true;
    if (!make_family(p, ids, f)) return false;
    order_epoch(seed, i, 5, order);
    for (int j = 0; j < 5; j++) all_good = release[order[j]](ids[order[j]], NULL) == HXP_OK && all_good;
    balance after = balance_now();
    failed += !all_good || after.handles != before.handles || after.bytes != before.bytes;
  }
  seen_integer(p, "orders", orders);
  seen_integer(p, "failed", failed);
  return true;
}

bool probe_double_release(probe *p, failure *f) {
  hxp_context context;
  hxp_tensor tensor;
  if (!probe_context(p, &context, f) || !tensor_of(context, 4, 0, &tensor, f)) return false;
  hxp_tensor_release(tensor, NULL);
  seen_text(p, "status", status_text(hxp_tensor_release(tensor, NULL)));
  hxp_context_release(context, NULL);
  return true;
}

bool probe_use_after_release(probe *p, failure *f) {
  hxp_context context;
  hxp_tensor tensor;
  float values[4];
  if (!probe_context(p, &context, f) || !tensor_of(context, 4, 0, &tensor, f)) return false;
  hxp_tensor_release(tensor, NULL);
  seen_text(p, "status", status_text(hxp_tensor_read(tensor, values, sizeof values, NULL)));
  hxp_context_release(context, NULL);
  return true;
}
