module hexapla-go

go 1.24
