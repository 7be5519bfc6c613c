package sys

// The tokenizer: byte-level BPE with NFC. The contract of each call stands in hexapla/tokenizer.h.

// #include <hexapla/tokenizer.h>
import "C"

import "unsafe"

// AddedTokenInit is hxp_added_token_init. Set an added token's size and zero the rest.
func AddedTokenInit(token *AddedToken) {
	C.hxp_added_token_init((*C.hxp_added_token)(unsafe.Pointer(token)))
}

// TokenizerOpen is hxp_tokenizer_open. Open the tokenizer.json of a folder.
func TokenizerOpen(folder *byte, out *Tokenizer, failure *Error) Status {
	return Status(C.hxp_tokenizer_open((*C.char)(unsafe.Pointer(folder)), (*C.hxp_tokenizer)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TokenizerRetain is hxp_tokenizer_retain. Take another share: a new id for the same tokenizer.
func TokenizerRetain(tokenizer Tokenizer, out *Tokenizer, failure *Error) Status {
	return Status(C.hxp_tokenizer_retain(C.hxp_tokenizer(tokenizer), (*C.hxp_tokenizer)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TokenizerRelease is hxp_tokenizer_release. Give one share back.
func TokenizerRelease(tokenizer Tokenizer, failure *Error) Status {
	return Status(C.hxp_tokenizer_release(C.hxp_tokenizer(tokenizer), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TokenizerEncode is hxp_tokenizer_encode. E(text) of SPEC "Rendering": NFC, split pattern, BPE; no added token is recognised inside
// the text.
func TokenizerEncode(tokenizer Tokenizer, text *byte, textBytes uint64, ids *int32, capacity uint64, countOut *uint64, failure *Error) Status {
	return Status(C.hxp_tokenizer_encode(C.hxp_tokenizer(tokenizer), (*C.char)(unsafe.Pointer(text)), C.uint64_t(textBytes), (*C.int32_t)(unsafe.Pointer(ids)), C.uint64_t(capacity), (*C.uint64_t)(unsafe.Pointer(countOut)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TokenizerId is hxp_tokenizer_id. The id of an added token by its text ("<|im_start|>"); HXP_NOT_FOUND if there is none.
func TokenizerId(tokenizer Tokenizer, text *byte, idOut *int32, failure *Error) Status {
	return Status(C.hxp_tokenizer_id(C.hxp_tokenizer(tokenizer), (*C.char)(unsafe.Pointer(text)), (*C.int32_t)(unsafe.Pointer(idOut)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TokenizerAddedCount is hxp_tokenizer_added_count. How many added tokens there are.
func TokenizerAddedCount(tokenizer Tokenizer, out *uint64, failure *Error) Status {
	return Status(C.hxp_tokenizer_added_count(C.hxp_tokenizer(tokenizer), (*C.uint64_t)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TokenizerAdded is hxp_tokenizer_added. The added token at an index, in the file's order.
func TokenizerAdded(tokenizer Tokenizer, index uint64, out *AddedToken, failure *Error) Status {
	return Status(C.hxp_tokenizer_added(C.hxp_tokenizer(tokenizer), C.uint64_t(index), (*C.hxp_added_token)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}
