/* The tokenizer: a tokenizer.json of byte-level BPE with NFC. It belongs to no context; any number of threads may encode at once. */
#ifndef HEXAPLA_TOKENIZER_H
#define HEXAPLA_TOKENIZER_H

#include "hexapla/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t hxp_tokenizer;

/** A token that stands outside the BPE vocabulary ("added_tokens" of tokenizer.json). */
typedef struct hxp_added_token {
  uint32_t struct_size;
  int32_t id;
  uint32_t special;    /* 1: flagged special in the file */
  uint32_t text_bytes; /* length of text without its zero byte */
  const char *text;    /* view: dies with the tokenizer */
} hxp_added_token;

/** Set an added token's size and zero the rest. token [caller's]. */
HXP_API void hxp_added_token_init(hxp_added_token *token);

/** Open the tokenizer.json of a folder.
 *  folder   [borrowed]
 *  out      [owned]
 *  returns  HXP_OK, HXP_IO, HXP_FORMAT, HXP_UNSUPPORTED (another model, normalizer or split pattern; the text names it).
 */
HXP_API hxp_status hxp_tokenizer_open(const char *folder, hxp_tokenizer *out, hxp_error *error);

/** Take another share: a new id for the same tokenizer. out [owned]. */
HXP_API hxp_status hxp_tokenizer_retain(hxp_tokenizer tokenizer, hxp_tokenizer *out, hxp_error *error);

/** Give one share back. 0 does nothing. */
HXP_API hxp_status hxp_tokenizer_release(hxp_tokenizer tokenizer, hxp_error *error);

/** E(text) of SPEC "Rendering": NFC, split pattern, BPE; no added token is recognised inside the text.
 *
 *  text       [borrowed] text_bytes bytes of UTF-8 (zero bytes are data); may be NULL when text_bytes is 0.
 *  ids        [caller's] room for capacity ids; NULL with capacity 0 only counts. text_bytes ids are always enough for a text in NFC.
 *  count_out  [caller's] the number of ids that the text has, also when they did not fit (then HXP_INVALID_ARGUMENT, no id written).
 *  returns    HXP_OK, HXP_INVALID_ARGUMENT (capacity, or bytes that are not UTF-8).
 */
HXP_API hxp_status hxp_tokenizer_encode(hxp_tokenizer tokenizer, const char *text, uint64_t text_bytes, int32_t *ids,
                                        uint64_t capacity, uint64_t *count_out, hxp_error *error);

/** The id of an added token by its text ("<|im_start|>"); HXP_NOT_FOUND if there is none. */
HXP_API hxp_status hxp_tokenizer_id(hxp_tokenizer tokenizer, const char *text, int32_t *id_out, hxp_error *error);

/** How many added tokens there are. */
HXP_API hxp_status hxp_tokenizer_added_count(hxp_tokenizer tokenizer, uint64_t *out, hxp_error *error);

/** The added token at an index, in the file's order. out [caller's], initialised. */
HXP_API hxp_status hxp_tokenizer_added(hxp_tokenizer tokenizer, uint64_t index, hxp_added_token *out, hxp_error *error);

#ifdef __cplusplus
}
#endif

#endif
