package main

// The `abi` request: the ABI as this language lays it out.

import (
	"maps"
	"slices"

	"hexapla-go/hexapla/rawtest"
)

func abi(e *events) pairs {
	types := pairs{}
	layouts := rawtest.Layouts()
	for _, name := range slices.Sorted(maps.Keys(layouts)) {
		layout := layouts[name]
		fields := pairs{}
		for _, field := range slices.Sorted(maps.Keys(layout.Fields)) {
			place := layout.Fields[field]
			fields = append(fields, pair{field, []int64{int64(place[0]), int64(place[1])}})
		}
		types = append(types, pair{name, pairs{{"size", layout.Size}, {"align", layout.Align}, {"fields", fields}}})
	}
	e.send("abi", pair{"abi_version", rawtest.ABIVersion}, pair{"types", types}, pair{"constants", rawtest.Constants()})
	return nil
}
