package main

// Record files: JSON Lines, one record a line, split at "\n" only. What a record means to the model is rendering's business.

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

// record is one question and its answer; system is nil if not given.
type record struct {
	id, question, answer string
	system               *string
}

// readRecords hands every record of a file, in order, to `each`. A line that cannot be read, or an id twice, ends it.
func readRecords(path string, each func(record) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fail(badFile, path, "%v", err)
	}
	defer file.Close()
	input := bufio.NewReaderSize(file, 1<<16)
	seen := map[string]int{}
	for number := 1; ; number++ {
		text, err := input.ReadString('\n')
		if err != nil && err != io.EOF {
			return fail(badFile, path, "%v", err)
		}
		ended := err == io.EOF
		if ended && text == "" {
			return nil
		}
		where := fmt.Sprintf("%s:%d", path, number)
		if !ended {
			text = text[:len(text)-1]
		}
		one, err := readRecord(text, where)
		if err != nil {
			return err
		}
		if first, twice := seen[one.id]; twice {
			return fail(badRecord, where, "id %q stands on line %d already", one.id, first)
		}
		seen[one.id] = number
		if err := each(one); err != nil {
			return at(where, err)
		}
	}
}

func readRecord(text, where string) (record, error) {
	value, err := parseJSON(text)
	if err != nil {
		return record{}, fail(badRecord, where, "%v", err)
	}
	o, ok := value.(*object)
	if !ok {
		return record{}, fail(badRecord, where, "a record must be an object")
	}
	var r record
	for key, into := range map[string]*string{"id": &r.id, "question": &r.question, "answer": &r.answer} {
		if *into, ok = o.values[key].(string); !ok {
			return record{}, fail(badRecord, where, "key %s must be a string", key)
		}
	}
	if value, given := o.values["system"]; given {
		system, ok := value.(string)
		if !ok {
			return record{}, fail(badRecord, where, "key system must be a string")
		}
		r.system = &system
	}
	return r, nil
}
