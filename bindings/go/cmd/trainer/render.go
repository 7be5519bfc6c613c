package main

// Rendering: a record's text to ids and labels by the spec's two templates, and why a record is rejected.

import (
	"strings"

	"hexapla-go/hexapla"
)

// rendered is an accepted record; flags[i] is 1 if ids[i] is to be learnt.
type rendered struct {
	ids    []int32
	flags  []byte
	labels int
}

// renderer holds a tokenizer and the pieces that every record shares.
type renderer struct {
	tokenizer *hexapla.Tokenizer
	length    int64
	head      []int32 // of an answer, in front of its piece: <|im_start|> and, in qwen3, the think block up to </think>
	prefix    string  // of an answer's piece
	prefixIDs []int32 // E(prefix)
	newline   []int32 // E("\n")
	start     int32   // <|im_start|>
	end       int32   // <|im_end|>
	markers   []string
}

// newRenderer opens the tokenizer of a folder. The renderer must be closed.
func newRenderer(folder, template string, length int64) (*renderer, error) {
	tokenizer, err := hexapla.OpenTokenizer(folder)
	if err != nil {
		return nil, at(folder, err)
	}
	r := &renderer{tokenizer: tokenizer, length: length}
	if err := r.prepare(template); err != nil {
		r.close()
		return nil, at(folder, err)
	}
	return r, nil
}

func (r *renderer) close() error { return r.tokenizer.Close() }

func (r *renderer) prepare(template string) error {
	names := []string{"<|im_start|>", "<|im_end|>"}
	if template == "qwen3" {
		names = append(names, "<think>", "</think>")
	}
	special := make([]int32, len(names))
	for i, name := range names {
		var err error
		if special[i], err = r.tokenizer.AddedID(name); err != nil {
			return err
		}
	}
	r.start, r.end = special[0], special[1]
	if template == "qwen3" {
		r.prefix = "\n\n"
	} else {
		r.prefix = "assistant\n"
	}
	var err error
	if r.prefixIDs, err = r.tokenizer.Encode(r.prefix); err != nil {
		return err
	}
	if r.newline, err = r.tokenizer.Encode("\n"); err != nil {
		return err
	}
	r.head = []int32{r.start}
	if template == "qwen3" {
		assistant, err := r.tokenizer.Encode("assistant\n")
		if err != nil {
			return err
		}
		r.head = append(append(r.head, assistant...), special[2])
		r.head = append(append(r.head, r.prefixIDs...), special[3])
	}
	added, err := r.tokenizer.Added()
	for _, token := range added {
		r.markers = append(r.markers, token.Text)
	}
	return err
}

// render is a record's ids and labels, or the reason why it is rejected.
func (r *renderer) render(one record) (rendered, string, error) {
	if strings.Contains(one.answer, "</think>") {
		return rendered{}, "think", nil
	}
	answer := strings.TrimLeft(one.answer, "\n")
	if answer == "" {
		return rendered{}, "empty", nil
	}
	piece, err := r.tokenizer.Encode(r.prefix + answer)
	if err != nil {
		return rendered{}, "", err
	}
	if !begins(piece, r.prefixIDs) {
		return rendered{}, "joined", nil
	}
	var ids []int32
	turns := []string{"user\n" + one.question}
	if one.system != nil {
		turns = []string{"system\n" + *one.system, turns[0]}
	}
	for _, turn := range turns {
		text, err := r.tokenizer.Encode(turn)
		if err != nil {
			return rendered{}, "", err
		}
		ids = append(append(append(append(ids, r.start), text...), r.end), r.newline...)
	}
	ids = append(append(ids, r.head...), r.prefixIDs...)
	first := len(ids)
	ids = append(append(ids, piece[len(r.prefixIDs):]...), r.end)
	behind := len(ids)
	ids = append(ids, r.newline...)
	return r.cut(ids, first, behind)
}

// cut keeps the first `length` ids and flags those from first to behind.
func (r *renderer) cut(ids []int32, first, behind int) (rendered, string, error) {
	if int64(len(ids)) > r.length {
		ids = ids[:r.length:r.length]
	}
	flags := make([]byte, len(ids))
	for i := first; i < min(behind, len(ids)); i++ {
		flags[i] = 1
	}
	labels := max(0, min(behind, len(ids))-first)
	if labels == 0 {
		return rendered{}, "no_label", nil
	}
	return rendered{ids, flags, labels}, "", nil
}

func begins(ids, prefix []int32) bool {
	if len(ids) < len(prefix) {
		return false
	}
	for i, id := range prefix {
		if ids[i] != id {
			return false
		}
	}
	return true
}

// marked says whether a record's raw text holds the text of an added token.
func (r *renderer) marked(one record) bool {
	texts := []string{one.question, one.answer}
	if one.system != nil {
		texts = append(texts, *one.system)
	}
	for _, marker := range r.markers {
		for _, text := range texts {
			if strings.Contains(text, marker) {
				return true
			}
		}
	}
	return false
}

// tally counts what rendering saw.
type tally struct {
	rejected map[string]int64
	markers  int64
}

// renderFile renders every record of a file, adds to the tally, and hands each result on; `reason` is "" for an accepted one.
func (r *renderer) renderFile(path string, count *tally, each func(id string, one rendered, reason string)) error {
	return readRecords(path, func(one record) error {
		if r.marked(one) {
			count.markers++
		}
		result, reason, err := r.render(one)
		if err != nil {
			return err
		}
		if reason != "" {
			count.rejected[reason]++
		}
		each(one.id, result, reason)
		return nil
	})
}

// accepted is the accepted records of a file, of which there must be one.
func (r *renderer) accepted(path string, count *tally) ([]rendered, error) {
	var all []rendered
	err := r.renderFile(path, count, func(_ string, one rendered, reason string) {
		if reason == "" {
			all = append(all, one)
		}
	})
	if err == nil && len(all) == 0 {
		err = fail(badRecord, path, "no record is accepted")
	}
	return all, err
}

type renderRequest struct {
	tokenizer, records, template string
	length                       int64
}

func (f *fields) renderKeys() renderRequest {
	return renderRequest{f.path("tokenizer"), f.path("records"), f.choice("template", "qwen3", "chatml"), f.integer("length", 2, countMax)}
}

// render answers the request of that name.
func render(request renderRequest, e *events) (pairs, error) {
	r, err := newRenderer(request.tokenizer, request.template, request.length)
	if err != nil {
		return nil, err
	}
	defer r.close()
	count := &tally{rejected: map[string]int64{}}
	var accepted int64
	err = r.renderFile(request.records, count, func(id string, one rendered, reason string) {
		if reason != "" {
			e.send("record", pair{"record", id}, pair{"rejected", reason})
			return
		}
		accepted++
		labels := make([]byte, len(one.flags))
		for i, flag := range one.flags {
			labels[i] = '0' + flag
		}
		e.send("record", pair{"record", id}, pair{"ids", one.ids}, pair{"labels", string(labels)})
	})
	return pairs{{"accepted", accepted}, {"rejected", count.rejected}, {"markers", count.markers}}, err
}
