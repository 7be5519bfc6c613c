package main

var scenarios = []scenario{}
