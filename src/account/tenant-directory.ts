import { defaultTenant, type Tenant } from './tenants.js';

/** The tenants, in the memory of a process. Archived ones are known by their ids alone. */
export class TenantDirectory {
  private readonly byNo = new Map<number, Tenant>();
  private readonly byId = new Map<string, Tenant>();
  private readonly byCustomer = new Map<string, Tenant>();
  private readonly archivedById = new Map<string, number>();
  private list: readonly number[] = [defaultTenant];

  /** The nos of all tenants that are not archived, in order. */
  get nos(): readonly number[] {
    return this.list;
  }

  /** The tenant that a Tenant-ID header means: by its id, or else by its customer's. */
  find(name: string): number | undefined {
    return (this.byId.get(name.toLowerCase()) ?? this.byCustomer.get(name))?.no;
  }

  /** Whether a tenant is there and not archived, by no. */
  has(no: number): boolean {
    return this.byNo.has(no);
  }

  /** The archived tenant with an id. (Its customer's may be that of another tenant by now.) */
  findArchived(id: string): number | undefined {
    return this.archivedById.get(id.toLowerCase());
  }

  clear(): void {
    for (const map of [this.byNo, this.byId, this.byCustomer, this.archivedById]) map.clear();
  }

  /** Takes over tenants as they are now. */
  take(tenants: readonly Tenant[]): void {
    // First what they were called, then what they are: two may have exchanged their customers.
    for (const { no } of tenants) {
      const before = this.byNo.get(no);
      if (before?.customerId !== undefined && before.customerId !== null) this.byCustomer.delete(before.customerId);
      if (before) this.byId.delete(before.id);
      this.byNo.delete(no);
    }
    for (const tenant of tenants) {
      if (tenant.status === 'archived') {
        this.archivedById.set(tenant.id, tenant.no);
        continue;
      }
      this.byNo.set(tenant.no, tenant);
      this.byId.set(tenant.id, tenant);
      if (tenant.customerId !== null) this.byCustomer.set(tenant.customerId, tenant);
    }
    this.list = [...this.byNo.keys()].sort((a, b) => a - b);
  }
}
