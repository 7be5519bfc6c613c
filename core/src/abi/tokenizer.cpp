// Tokenizers across the ABI. A tokenizer belongs to no context, so nothing here is recorded in a ledger and calls run side by side.
#include "hexapla/tokenizer.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "abi/shim.hpp"
#include "formats/tokenizer.hpp"

using namespace hexapla;

extern "C" {

void hxp_added_token_init(hxp_added_token* token) {
  *token = {};
  token->struct_size = sizeof *token;
}

hxp_status hxp_tokenizer_open(const char* folder, hxp_tokenizer* out, hxp_error* error) {
  return guard(error, [&] {
    require(folder != nullptr, "folder must be given");
    require(out != nullptr, "out must be given");
    *out = publish(open_tokenizer(folder));
  });
}

hxp_status hxp_tokenizer_retain(hxp_tokenizer tokenizer, hxp_tokenizer* out, hxp_error* error) {
  return retain<Tokenizer>(error, 0, tokenizer, out);
}

hxp_status hxp_tokenizer_release(hxp_tokenizer tokenizer, hxp_error* error) { return release<Tokenizer>(error, 0, tokenizer); }

hxp_status hxp_tokenizer_encode(hxp_tokenizer tokenizer, const char* text, uint64_t text_bytes, int32_t* ids, uint64_t capacity,
                                uint64_t* count_out, hxp_error* error) {
  return guard(error, [&] {
    const Share<Tokenizer> subject = share<Tokenizer>(tokenizer);
    require(text != nullptr || text_bytes == 0, "text must be given");
    require(ids != nullptr || capacity == 0, "ids must be given");
    require(count_out != nullptr, "count_out must be given");
    const std::vector<std::int32_t> encoded = subject->encode(text_bytes ? std::string_view(text, text_bytes) : std::string_view());
    *count_out = encoded.size();
    if (ids == nullptr) return;
    require(encoded.size() <= capacity, "ids has room for ", capacity, ", the text has ", encoded.size());
    std::copy(encoded.begin(), encoded.end(), ids);
  });
}

hxp_status hxp_tokenizer_id(hxp_tokenizer tokenizer, const char* text, int32_t* id_out, hxp_error* error) {
  return guard(error, [&] {
    const Share<Tokenizer> subject = share<Tokenizer>(tokenizer);
    require(text != nullptr, "text must be given");
    require(id_out != nullptr, "id_out must be given");
    *id_out = subject->find_added(text).id;
  });
}

hxp_status hxp_tokenizer_added_count(hxp_tokenizer tokenizer, uint64_t* out, hxp_error* error) {
  return guard(error, [&] {
    const Share<Tokenizer> subject = share<Tokenizer>(tokenizer);
    require(out != nullptr, "out must be given");
    *out = subject->added().size();
  });
}

hxp_status hxp_tokenizer_added(hxp_tokenizer tokenizer, uint64_t index, hxp_added_token* out, hxp_error* error) {
  return guard(error, [&] {
    const Share<Tokenizer> subject = share<Tokenizer>(tokenizer);
    require_struct(out, "out");
    require(index < subject->added().size(), "index ", index, " of ", subject->added().size(), " added tokens");
    const AddedToken& token = subject->added()[index];
    hxp_added_token_init(out);
    out->id = token.id;
    out->special = token.special ? 1 : 0;
    out->text_bytes = static_cast<std::uint32_t>(token.text.size());
    out->text = token.text.c_str();
  });
}

}  // extern "C"
