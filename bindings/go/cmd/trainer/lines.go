package main

// Lines of stdin, read ahead by a goroutine of their own, so that the end of stdin is seen while a request runs.

import (
	"bufio"
	"context"
	"io"
	"sync"
)

const requestBytesMax = 16 << 20

// line is one line, or the news that it was too long.
type line struct {
	number  int
	text    string
	tooLong bool
}

// lines is a queue without limit: the reader must reach the end of stdin however many requests wait.
type lines struct {
	mutex sync.Mutex
	some  *sync.Cond
	queue []line
	over  bool
}

// readLines starts to read, and ends the context at the end of input.
func readLines(in io.Reader, end context.CancelFunc) *lines {
	l := &lines{}
	l.some = sync.NewCond(&l.mutex)
	go func() {
		defer end()
		input := bufio.NewReaderSize(in, 1<<16)
		for number := 1; ; number++ {
			next, more := readLine(input)
			next.number = number
			l.put(next, more)
			if !more {
				return
			}
		}
	}()
	return l
}

func (l *lines) put(next line, more bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if more || next.text != "" || next.tooLong {
		l.queue = append(l.queue, next)
	}
	l.over = l.over || !more
	l.some.Signal()
}

// next waits for a line; false at the end.
func (l *lines) next() (line, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for len(l.queue) == 0 && !l.over {
		l.some.Wait()
	}
	if len(l.queue) == 0 {
		return line{}, false
	}
	first := l.queue[0]
	l.queue = l.queue[1:]
	return first, true
}

// readLine reads up to "\n" or the end, and forgets what lies past the limit. more is false at the end.
func readLine(input *bufio.Reader) (read line, more bool) {
	var text []byte
	for {
		part, err := input.ReadSlice('\n')
		if len(text)+len(part) > requestBytesMax+1 {
			read.tooLong, text = true, nil
		}
		if !read.tooLong {
			text = append(text, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if n := len(text); n > 0 && text[n-1] == '\n' {
			text = text[:n-1]
		}
		read.text = string(text)
		return read, err == nil
	}
}
