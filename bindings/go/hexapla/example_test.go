package hexapla_test

import (
	"fmt"
	"log"

	"hexapla-go/hexapla"
)

// One gradient: y = x wᵀ, and what moving w would do to y's sum.
func Example() {
	context, err := hexapla.NewContext("cpu:0", hexapla.Options{Threads: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer context.Close()
	var scope hexapla.Scope
	defer scope.Close()
	keep := func(t *hexapla.Tensor, err error) *hexapla.Tensor {
		if err != nil {
			log.Fatal(err)
		}
		return hexapla.Keep(&scope, t)
	}
	x := keep(context.From([]float32{1, 2, 3, 4}, 2, 2)) // (rows, in)
	w := keep(context.From([]float32{1, 0, 0, 1, 1, 1}, 3, 2))
	tape, err := context.NewTape()
	if err != nil {
		log.Fatal(err)
	}
	defer tape.Close()
	gradient := keep(context.Zeros(3, 2))
	if err := tape.Watch(w, gradient); err != nil {
		log.Fatal(err)
	}
	y := keep(hexapla.Linear(tape, x, w)) // (rows, out)
	if err := tape.Backward(y, nil); err != nil {
		log.Fatal(err)
	}
	values, _ := y.Values()
	moved, _ := gradient.Values()
	fmt.Println(values, moved)
	// Output: [1 2 3 3 4 7] [4 6 4 6 4 6]
}
