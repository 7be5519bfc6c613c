package hexapla

// The tokenizer: a tokenizer.json of byte-level BPE with NFC.

import (
	"runtime"
	"unsafe"

	"hexapla-go/sys"
)

// Tokenizer is an owner of a tokenizer. It belongs to no context; any number of goroutines may encode at once.
type Tokenizer struct{ owner }

// AddedToken stands outside the BPE vocabulary.
type AddedToken struct {
	ID      int32
	Text    string
	Special bool
}

// OpenTokenizer opens the tokenizer.json of a folder. It fails with IO, Format or Unsupported.
func OpenTokenizer(folder string) (*Tokenizer, error) {
	raw, err := terminated(folder)
	if err != nil {
		return nil, err
	}
	return tokenizer(func(f *frame) sys.Status { return sys.TokenizerOpen(raw, f.tokenizer(), &f.failure) })
}

func tokenizer(f func(*frame) sys.Status) (*Tokenizer, error) {
	id, err := made(f)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{}
	return adopt(t, &t.owner, id, "tokenizer", func(id uint64, failure *sys.Error) sys.Status {
		return sys.TokenizerRelease(sys.Tokenizer(id), failure)
	}), nil
}

// Close gives this share back.
func (t *Tokenizer) Close() error {
	defer runtime.KeepAlive(t)
	return t.close()
}

// Retain makes a second owner of the same tokenizer.
func (t *Tokenizer) Retain() (*Tokenizer, error) {
	defer runtime.KeepAlive(t)
	return tokenizer(func(f *frame) sys.Status {
		return sys.TokenizerRetain(sys.Tokenizer(t.id), f.tokenizer(), &f.failure)
	})
}

// Encode is the ids of a text: NFC, split pattern, BPE. No added token is recognised inside it. Text that is not UTF-8 fails with
// InvalidArgument.
func (t *Tokenizer) Encode(text string) ([]int32, error) {
	defer runtime.KeepAlive(t)
	f := frames.Get().(*frame)
	defer frames.Put(f)
	data := (*byte)(unsafe.Pointer(unsafe.StringData(text)))
	ids := make([]int32, len(text)+1)
	for {
		f.id = 0
		status := sys.TokenizerEncode(sys.Tokenizer(t.id), data, uint64(len(text)), &ids[0], uint64(len(ids)), &f.id, &f.failure)
		if status == sys.InvalidArgument && f.id > uint64(len(ids)) { // a text that NFC makes longer
			ids = make([]int32, f.id)
			continue
		}
		if err := check(status, &f.failure); err != nil {
			return nil, err
		}
		return ids[:f.id:f.id], nil
	}
}

// AddedID is the id of an added token by its text; NotFound if there is none.
func (t *Tokenizer) AddedID(text string) (int32, error) {
	defer runtime.KeepAlive(t)
	raw, err := terminated(text)
	if err != nil {
		return 0, err
	}
	f := frames.Get().(*frame)
	defer frames.Put(f)
	err = check(sys.TokenizerId(sys.Tokenizer(t.id), raw, &f.flag, &f.failure), &f.failure)
	return f.flag, err
}

// Added lists the added tokens in the file's order.
func (t *Tokenizer) Added() ([]AddedToken, error) {
	defer runtime.KeepAlive(t)
	count, err := made(func(f *frame) sys.Status {
		return sys.TokenizerAddedCount(sys.Tokenizer(t.id), &f.id, &f.failure)
	})
	if err != nil {
		return nil, err
	}
	tokens := make([]AddedToken, count)
	raw := new(sys.AddedToken)
	for i := range tokens {
		sys.AddedTokenInit(raw)
		err := call(func(f *frame) sys.Status {
			return sys.TokenizerAdded(sys.Tokenizer(t.id), uint64(i), raw, &f.failure)
		})
		if err != nil {
			return nil, err
		}
		tokens[i] = AddedToken{raw.Id, string(unsafe.Slice(raw.Text, raw.TextBytes)), raw.Special == 1}
	}
	return tokens, nil
}
