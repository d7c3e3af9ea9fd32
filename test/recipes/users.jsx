// A React component that shows rows as they come.
import { useEffect, useState } from 'react';
import { rows } from 'quickgres/client-parser';

export function Users() {
  const [users, setUsers] = useState([]);
  useEffect(() => {
    const controller = new AbortController();
    (async () => {
      const { signal } = controller;
      for await (const batch of rows('/rows', { signal }).batches()) {
        setUsers(users => users.concat(batch));
      }
    })().catch(error => controller.signal.aborted || console.error(error));
    return () => controller.abort();
  }, []);
  return (
    <ul>
      {users.map(user => (
        <li key={user.id}>{user.name}</li>
      ))}
    </ul>
  );
}
