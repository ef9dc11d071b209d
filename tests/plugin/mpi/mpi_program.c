/* Calls with counts of type int, ended in every way; counts itself what it issues: "KIND COUNT" lines of rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>

int main(int argc, char** argv) {
  int rank, size, flag = 0, index, done, indices[2];
  double x[8] = {1}, y[64] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;

  for (int step = 0; step < 3; ++step) {
    MPI_Allreduce(x, y, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(1);
  }
  if (fork() == 0) _exit(0); /* a child leaves the stream alone */
  wait(NULL);

  MPI_Request r[2];
  MPI_Irecv(y, 64, MPI_FLOAT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(x, 8, MPI_FLOAT, next, 1, MPI_COMM_WORLD, &r[1]);
  while (!flag) MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
  MPI_Irecv(y, 64, MPI_FLOAT, previous, 2, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(x, 8, MPI_FLOAT, next, 2, MPI_COMM_WORLD, &r[1]);
  for (int left = 2; left > 0; left -= done) MPI_Testsome(2, r, &done, indices, MPI_STATUSES_IGNORE);
  MPI_Irecv(y, 64, MPI_FLOAT, previous, 3, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(x, 8, MPI_FLOAT, next, 3, MPI_COMM_WORLD, &r[1]);
  for (int left = 2; left > 0; left -= flag) MPI_Testany(2, r, &index, &flag, MPI_STATUS_IGNORE);
  MPI_Isend(x, 8, MPI_FLOAT, next, 4, MPI_COMM_WORLD, &r[1]);
  MPI_Request_free(&r[1]);
  MPI_Recv(y, 64, MPI_FLOAT, previous, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Scan(x, y, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("all_reduce 3\nsend 4\nrecv 4\n");
  MPI_Finalize();
  return 0;
}
