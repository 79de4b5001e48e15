// An echo server in Go, on two processors: a goroutine for each connection. With a page it is a web
// server, of net/http.
package main

import (
	"net"
	"net/http"
	"os"
	"runtime"
)

func serve(connection net.Conn) {
	defer connection.Close()
	buffer := make([]byte, 4096)
	for {
		n, err := connection.Read(buffer)
		if err != nil {
			return
		}
		if _, err = connection.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func main() {
	runtime.GOMAXPROCS(2)
	address := "127.0.0.1:" + os.Args[1]
	if len(os.Args) > 2 {
		page, _ := os.ReadFile(os.Args[2])
		http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Write(page)
		})
		http.ListenAndServe(address, nil)
		os.Exit(1)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		os.Exit(1)
	}
	for {
		if connection, err := listener.Accept(); err == nil {
			go serve(connection)
		}
	}
}
